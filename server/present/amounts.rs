//! Numbers as people read them.

/// US dollars to the cent; of less than a cent the first two digits that are not zero.
pub fn dollars(amount: f64) -> String {
    let mut digits = 2;
    let is_less = |digits: i32| amount > 0.0 && amount * 10_f64.powi(digits) < 1.0;
    if is_less(2) {
        digits = (4..9).find(|digits| !is_less(digits - 1)).unwrap_or(9);
    }
    format!("${amount:.*}", usize::try_from(digits).unwrap_or(2))
}

/// `1 round`, `2 rounds`.
pub fn counted(number: u64, one: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{number} {one}{end}")
}

/// `3, 8, 12`.
pub fn listed(numbers: &[usize]) -> String {
    let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
    numbers.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_amounts_are_never_nothing() {
        let shown = [12.0, 0.5, 0.1, 0.028, 0.003, 0.000_45, 0.0].map(dollars);
        let wanted = [
            "$12.00", "$0.50", "$0.10", "$0.03", "$0.0030", "$0.00045", "$0.00",
        ];
        assert_eq!(shown, wanted);
    }
}

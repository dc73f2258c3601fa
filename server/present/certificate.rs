//! A server whose certificate does not hold, told to a person.

/// Why a connection was not made, where that is its certificate's fault, and what can be done (both as parts of a
/// sentence). `cause` is what TLS says of it.
pub fn certificate(cause: &str) -> Option<(&'static str, &'static str)> {
    let said = cause
        .split_once("invalid peer certificate: ")
        .map(|(_, said)| said)?;
    let known = [
        (
            "certificate expired",
            "its certificate has expired",
            "have it renewed on that server, or set this machine's clock right",
        ),
        (
            "certificate not valid yet",
            "its certificate is not valid yet by this machine's clock",
            "set this machine's clock right",
        ),
        (
            "certificate not valid for name",
            "its certificate is for another name",
            "ask it by the name that its certificate has",
        ),
        (
            "Revoked",
            "its certificate was taken back",
            "have it replaced on that server",
        ),
    ];
    let fits = known.iter().find(|(start, ..)| said.starts_with(start));
    Some(fits.map_or(
        (
            "no authority that this system trusts has signed its certificate",
            "have its authority trusted (install its certificate in the system, or name the file in SSL_CERT_FILE)",
        ),
        |(_, why, what)| (*why, *what),
    ))
}

//! A server whose certificate does not hold, told to a person.

/// What somebody can do whose own authority, or whose company's, signs certificates.
pub const TRUST_AUTHORITY: &str = "have its authority trusted (install its certificate in the system, or name the file in SSL_CERT_FILE)";

/// Why a connection was not made, where that is its certificate's fault. `cause` is what TLS says of it.
pub fn certificate(cause: &str) -> Option<&'static str> {
    let said = cause
        .split_once("invalid peer certificate: ")
        .map(|(_, said)| said)?;
    let known = [
        ("certificate expired", "its certificate has expired"),
        (
            "certificate not valid yet",
            "its certificate is not valid yet by this machine's clock",
        ),
        (
            "certificate not valid for name",
            "its certificate is for another name",
        ),
        ("Revoked", "its certificate was taken back"),
    ];
    let fits = known.iter().find(|(start, _)| said.starts_with(start));
    Some(fits.map_or(
        "no authority that this system trusts has signed its certificate",
        |(_, words)| words,
    ))
}

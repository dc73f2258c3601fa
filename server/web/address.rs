//! Where a request may go: an address that belongs to the public internet, and nothing else. What is not
//! known to be public is refused.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What an address is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Public,
    /// This machine.
    Loopback,
    /// A network of somebody's own: RFC 1918, RFC 4193, RFC 6598.
    Private,
    /// Where a cloud hands its machines their keys.
    Metadata,
    /// No host, a group of them, or a way around the others.
    Special,
}

impl Kind {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Public => "a public address",
            Self::Loopback => "this machine",
            Self::Private => "a private network",
            Self::Metadata => "a cloud's metadata service",
            Self::Special => "no public address",
        }
    }
}

/// Services of clouds at addresses that are otherwise link-local, private or reserved.
const METADATA: &[IpAddr] = &[
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

/// IPv4 that is neither public nor anybody's network (IANA's special-purpose registry), as prefixes.
const SPECIAL_V4: &[(Ipv4Addr, u32)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 31, 196, 0), 24),
    (Ipv4Addr::new(192, 52, 193, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 175, 48, 0), 24),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

const PRIVATE_V4: &[(Ipv4Addr, u32)] = &[
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
];

/// Inside what IPv6 calls global unicast, and yet not: protocols' own (Teredo, ORCHID, benchmarks),
/// documentation, 6to4.
const SPECIAL_V6: &[(Ipv6Addr, u32)] = &[
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16),
    (Ipv6Addr::new(0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0), 48),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

pub(super) fn kind(address: IpAddr) -> Kind {
    if METADATA.contains(&address) {
        return Kind::Metadata;
    }
    match address {
        IpAddr::V4(address) => kind_v4(address),
        IpAddr::V6(address) => kind_v6(address),
    }
}

fn kind_v4(address: Ipv4Addr) -> Kind {
    let within = |list: &[(Ipv4Addr, u32)]| {
        list.iter().any(|(net, bits)| {
            let differ = u32::from(address) ^ u32::from(*net);
            differ.checked_shr(32 - bits).unwrap_or(0) == 0
        })
    };
    if address.is_loopback() {
        Kind::Loopback
    } else if within(PRIVATE_V4) {
        Kind::Private
    } else if within(SPECIAL_V4) {
        Kind::Special
    } else {
        Kind::Public
    }
}

fn kind_v6(address: Ipv6Addr) -> Kind {
    let within = |net: &Ipv6Addr, bits: u32| {
        let differ = u128::from(address) ^ u128::from(*net);
        differ.checked_shr(128 - bits).unwrap_or(0) == 0
    };
    if address.is_loopback() {
        return Kind::Loopback;
    }
    if within(&Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7) {
        return Kind::Private;
    }
    // Networks without IPv4 reach the public part of it by this prefix (RFC 6052).
    if within(&Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96) {
        let [.., a, b, c, d] = address.octets();
        return match kind(IpAddr::V4(Ipv4Addr::new(a, b, c, d))) {
            Kind::Public => Kind::Public,
            _ => Kind::Special,
        };
    }
    let global = within(&Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
    if global && !SPECIAL_V6.iter().any(|(net, bits)| within(net, *bits)) {
        Kind::Public
    } else {
        Kind::Special
    }
}

/// Ports of other protocols that a request over HTTP could be made to speak: the Fetch standard's list.
const BAD_PORTS: &[u16] = &[
    1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102,
    103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465,
    512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993,
    995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668,
    6669, 6679, 6697, 10080,
];

pub(super) fn is_bad_port(port: u16) -> bool {
    BAD_PORTS.binary_search(&port).is_ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn kind_of(text: &str) -> Kind {
        kind(text.parse().unwrap())
    }

    #[test]
    fn addresses_are_what_they_are() {
        for (texts, expected) in [
            (
                "8.8.8.8 93.184.216.34 100.63.255.255 100.128.0.0 172.15.255.255 172.32.0.0 192.167.255.255 \
                 198.17.255.255 198.20.0.0 223.255.255.255 2606:2800:220:1::1 2a00:1450:4001::8a 2001:4860:4860::8888 \
                 64:ff9b::808:808",
                Kind::Public,
            ),
            ("127.0.0.1 127.255.255.255 ::1", Kind::Loopback),
            (
                "10.0.0.0 10.255.255.255 100.64.0.0 100.127.255.255 172.16.0.1 172.31.255.255 192.168.0.1 \
                 fc00::1 fdff:ffff::1",
                Kind::Private,
            ),
            (
                "169.254.169.254 169.254.170.2 100.100.100.200 192.0.0.192 168.63.129.16 fd00:ec2::254",
                Kind::Metadata,
            ),
            (
                // Nothing, this network, link-local, tests, benchmarks, groups, the rest of the old classes.
                "0.0.0.0 0.1.2.3 169.254.0.1 192.0.0.8 192.0.2.1 192.88.99.1 198.18.0.1 198.19.255.255 \
                 198.51.100.1 203.0.113.7 224.0.0.1 239.255.255.250 240.0.0.1 255.255.255.255 \
                 :: fe80::1 fec0::1 ff02::1 100::1 2001:db8::1 3fff::1 \
                 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:169.254.169.254 ::127.0.0.1 ::10.0.0.1 ::ffff:0:127.0.0.1 \
                 64:ff9b::127.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b::10.0.0.1 64:ff9b:1::808:808 \
                 2002:7f00:1:: 2002:a00:1:: 2002:808:808:: 2001:0:7f00:1:: 5f00::1",
                Kind::Special,
            ),
        ] {
            for text in texts.split_whitespace() {
                assert_eq!(kind_of(text), expected, "{text}");
            }
        }
    }

    #[test]
    fn the_list_of_ports_is_in_order() {
        assert!(BAD_PORTS.is_sorted());
        assert!(is_bad_port(22) && is_bad_port(25) && is_bad_port(10080));
        assert!(!is_bad_port(80) && !is_bad_port(443) && !is_bad_port(8080));
    }

    proptest! {
        /// However an address of IPv4 is dressed, the dress opens nothing that the address itself does not.
        #[test]
        fn no_dress_makes_an_address_public(bits in any::<u32>(), prefix in 0usize..6) {
            let bare = Ipv4Addr::from(bits);
            let [a, b] = [(bits >> 16) as u16, bits as u16];
            let dressed = match prefix {
                0 => Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, a, b),
                1 => Ipv6Addr::new(0, 0, 0, 0, 0, 0, a, b),
                2 => Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, a, b),
                3 => Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, a, b),
                4 => Ipv6Addr::new(0x2002, a, b, 0, 0, 0, 0, 1),
                _ => Ipv6Addr::new(0x2001, 0, a, b, 0, 0, !a, !b),
            };
            if kind(IpAddr::V6(dressed)) == Kind::Public {
                prop_assert_eq!(kind(IpAddr::V4(bare)), Kind::Public);
            }
        }

        /// What the standard library knows to be special is never public.
        #[test]
        fn the_standard_library_agrees(bits in any::<u32>()) {
            let address = Ipv4Addr::from(bits);
            let special = address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_multicast()
                || address.is_broadcast()
                || address.is_documentation()
                || address.is_unspecified();
            if special {
                prop_assert_ne!(kind(IpAddr::V4(address)), Kind::Public);
            }
        }
    }
}

//! Classifies IP addresses: public, private (allowed only by the user), or never reachable. Pure.
//!
//! An IPv6 address that carries an IPv4 address is judged by what it carries: packets end up there.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address may be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressClass {
    /// Public.
    Public,
    /// Only with the user's word: this machine, this network.
    Private(&'static str),
    /// Never allowed: a metadata service with credentials, or an address without a host (multicast, reserved).
    Never(&'static str),
}

use AddressClass::{Never, Private, Public};

/// Cloud metadata services, which serve credentials, outside the ranges that are refused anyway.
const METADATA_V4: [Ipv4Addr; 3] = [
    // Alibaba Cloud, inside the range shared by carriers.
    Ipv4Addr::new(100, 100, 100, 200),
    // Azure, which looks public.
    Ipv4Addr::new(168, 63, 129, 16),
    // Oracle Cloud.
    Ipv4Addr::new(192, 0, 0, 192),
];

const METADATA_V6: [Ipv6Addr; 4] = [
    // Amazon: machines, containers, pods.
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
    // Google.
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
    // Scaleway.
    Ipv6Addr::new(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42),
];

const METADATA: &str = "a metadata service that hands out credentials";
const LINK_LOCAL: &str = "a link-local address, where metadata services are";

/// Judges one address.
pub(crate) fn reach(address: IpAddr) -> AddressClass {
    match address {
        IpAddr::V4(address) => reach_v4(address),
        IpAddr::V6(address) => reach_v6(address),
    }
}

fn reach_v4(address: Ipv4Addr) -> AddressClass {
    if METADATA_V4.contains(&address) {
        return Never(METADATA);
    }
    match address.octets() {
        [0, ..] => Never("an address of no network"),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Private("a private address"),
        [100, 64..=127, ..] => Private("an address shared by a carrier's customers"),
        [127, ..] => Private("this machine itself"),
        [169, 254, ..] => Never(LINK_LOCAL),
        [192, 0, 0, _] | [192, 88, 99, _] => Never("an address reserved for protocols"),
        [192, 0, 2, _] | [198, 51, 100, _] | [203, 0, 113, _] => {
            Never("an address for documentation")
        }
        [198, 18..=19, ..] => Never("an address for benchmarks"),
        [224..=239, ..] => Never("a multicast address"),
        [240..=255, ..] => Never("a reserved address"),
        _ => Public,
    }
}

fn reach_v6(address: Ipv6Addr) -> AddressClass {
    if METADATA_V6.contains(&address) {
        return Never(METADATA);
    }
    if let Some(carried) = carried_v4(address) {
        return reach_v4(carried);
    }
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Never("the address of no machine"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Private("this machine itself"),
        [0xfc00..=0xfdff, ..] => Private("a private address"),
        [0xfe80..=0xfebf, ..] => Never(LINK_LOCAL),
        [0xfec0..=0xfeff, ..] => Never("a site-local address"),
        [0xff00..=0xffff, ..] => Never("a multicast address"),
        [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Never("an address for documentation"),
        [0x2001, 0, ..] => Never("a Teredo tunnel"),
        [0x2001, 1..=0x1ff, ..] => Never("an address reserved for protocols"),
        [0x2002, ..] => Never("a 6to4 tunnel"),
        // ISATAP hides an IPv4 address of the site in the lower half of a public address.
        [_, _, _, _, 0 | 0x200, 0x5efe, _, _] => Never("an ISATAP tunnel"),
        // Nothing else of the whole space has been given out.
        [0x2000..=0x3fff, ..] => Public,
        _ => Never("a reserved address"),
    }
}

/// The IPv4 address that packets to this one end up at: mapped, or translated by NAT64.
fn carried_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [.., a, b, c, d] = address.octets();
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, _, _] | [0x64, 0xff9b, 0, 0, 0, 0, _, _] => {
            Some(Ipv4Addr::new(a, b, c, d))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_judged_by_where_packets_end_up() {
        let public = [
            "1.1.1.1",
            "93.184.216.34",
            "172.32.0.1",
            "100.128.0.1",
            "2606:4700::1111",
        ];
        let carried = ["::ffff:1.1.1.1", "64:ff9b::1.1.1.1"];
        for text in public.into_iter().chain(carried) {
            assert_eq!(reach(text.parse().unwrap()), Public, "{text}");
        }
        let private = [
            "127.0.0.1",
            "127.255.0.9",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "100.64.0.1",
        ];
        let private_v6 = ["::1", "fd12::1", "::ffff:10.0.0.1", "64:ff9b::127.0.0.1"];
        for text in private.into_iter().chain(private_v6) {
            assert!(matches!(reach(text.parse().unwrap()), Private(_)), "{text}");
        }
    }

    #[test]
    fn some_addresses_cannot_be_allowed_by_anybody() {
        let metadata = [
            "169.254.169.254",
            "169.254.170.2",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
        ];
        let metadata_v6 = [
            "fd00:ec2::254",
            "fd20:ce::254",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
        ];
        let nobody = [
            "0.0.0.0",
            "0.1.2.3",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "198.19.255.255",
        ];
        let nobody_v6 = [
            "::",
            "::7f00:1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "2001:db8::1",
            "3fff::1",
            "100::1",
        ];
        let tunnels = [
            "2002:7f00:1::",
            "2002:808:808::1",
            "2001:0:1::1",
            "2600::5efe:7f00:1",
            "64:ff9b:1::1",
        ];
        for text in metadata
            .iter()
            .chain(&metadata_v6)
            .chain(&nobody)
            .chain(&nobody_v6)
            .chain(&tunnels)
        {
            assert!(matches!(reach(text.parse().unwrap()), Never(_)), "{text}");
        }
    }
}

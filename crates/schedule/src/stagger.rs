//! Spreads schedules that are due at the same moment over a window, the same way each time.

/// Seconds to wait, below `window_s`, for this key. A restart computes the same number, so an occurrence keeps its place.
pub fn stagger(key: &str, window_s: u64) -> u64 {
    if window_s == 0 {
        return 0;
    }
    // FNV-1a, and a final mix because its low bits of similar keys are similar.
    let hash = key.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let mixed = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (mixed ^ (mixed >> 33)) % window_s
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_always_waits_the_same_and_many_keys_fill_the_window_evenly() {
        assert_eq!(stagger("sch_1", 300), stagger("sch_1", 300));
        assert_eq!((stagger("sch_1", 0), stagger("sch_1", 1)), (0, 0));
        let mut tenths = [0_u32; 10];
        for number in 0..10_000 {
            let wait = stagger(&format!("sch_{number}"), 300);
            tenths[usize::try_from(wait / 30).unwrap()] += 1;
        }
        assert!(
            tenths.iter().all(|count| (850..1150).contains(count)),
            "{tenths:?}"
        );
    }
}

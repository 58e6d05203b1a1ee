//! Measures both sides alternately, so that noise hits both, and takes the medians.

use anyhow::Result;

/// The medians of both sides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MedianPair {
    pub ours: f64,
    pub bare: Option<f64>,
}

/// Measures both sides so many times, after one warm-up round.
pub fn compare(
    rounds: usize,
    mut bare: impl FnMut() -> Result<f64>,
    mut ours: impl FnMut() -> Result<f64>,
) -> Result<MedianPair> {
    let (mut bares, mut our) = (Vec::with_capacity(rounds), Vec::with_capacity(rounds));
    bare()?;
    ours()?;
    for _ in 0..rounds {
        bares.push(bare()?);
        our.push(ours()?);
    }
    Ok(MedianPair {
        ours: median(our),
        bare: Some(median(bares)),
    })
}

/// Measures only our side.
pub fn measure_ours(rounds: usize, mut ours: impl FnMut() -> Result<f64>) -> Result<MedianPair> {
    ours()?;
    let figures: Result<Vec<f64>> = (0..rounds).map(|_| ours()).collect();
    Ok(MedianPair {
        ours: median(figures?),
        bare: None,
    })
}

/// The median; of an even number, the lower of the two.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    let middle = figures.len().saturating_sub(1) / 2;
    figures.get(middle).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn the_median_does_not_mind_one_wild_figure() {
        assert_eq!(median(vec![3.0, 900.0, 1.0, 2.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0]), 1.0);
        assert!(median(Vec::new()).is_nan());
    }

    #[test]
    fn both_sides_take_turns_and_the_first_round_does_not_count() {
        let order = RefCell::new(String::new());
        let side = |name, figure: f64| {
            let order = &order;
            let mut first = true;
            move || {
                order.borrow_mut().push(name);
                Ok(if std::mem::take(&mut first) {
                    1e9
                } else {
                    figure
                })
            }
        };
        let pair = compare(2, side('b', 1.0), side('o', 2.0)).unwrap();
        assert_eq!(*order.borrow(), "bobobo");
        assert_eq!(
            pair,
            MedianPair {
                ours: 2.0,
                bare: Some(1.0)
            }
        );
    }
}

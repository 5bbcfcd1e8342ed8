//! The orders of threads and streams, as they are written on the command line.

use std::str::FromStr;

/// The greatest number of an order.
const GREATEST: u32 = 1000;

/// A list of orders: `0`, `0,3`, `0..5` (both ends).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Orders(pub(super) Vec<u32>);

impl FromStr for Orders {
    type Err = String;

    fn from_str(text: &str) -> Result<Orders, String> {
        let number = |word: &str| match word.trim().parse() {
            Ok(number) if number <= GREATEST => Ok(number),
            _ => Err(format!(
                "write numbers from 0 to {GREATEST}: 0, or 0,3, or 0..5"
            )),
        };
        let mut orders = Vec::new();
        for part in text.split(',') {
            match part.split_once("..") {
                Some((first, last)) => {
                    let (first, last) = (number(first)?, number(last)?);
                    if first > last {
                        return Err(format!("{part}: the first order is greater than the last"));
                    }
                    orders.extend(first..=last);
                }
                None => orders.push(number(part)?),
            }
        }
        Ok(Orders(orders))
    }
}

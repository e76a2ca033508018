//! A hash chain of lines: each line's hash covers the line and the previous hash, so that every change is detected.
//!
//! ```text
//! {"seq":7,"record":{…},"hash":"<64 hexadecimal digits>"}
//! ```

use crate::base::hex;
use std::io::{self, BufRead};

use sha2::{Digest, Sha256};

/// The text before and after the hash.
const BEFORE: &str = ",\"hash\":\"";
const AFTER: &str = "\"}";
const DIGITS: usize = 64;
/// Maximum length of a line, in bytes; the largest records contain a turn's answer and its diffs.
pub const LINE_MAX: usize = 64 << 20;

/// Number and hash of a line, used to make the next line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// 0 before the first line.
    pub seq: u64,
    pub hash: String,
}

impl Link {
    pub fn start() -> Link {
        Link { seq: 0, hash: "0".repeat(DIGITS) }
    }

    /// The line for `record`, a JSON value, including its newline, and the new end of the chain.
    pub fn next(&self, record: &str) -> (String, Link) {
        let seq = self.seq + 1;
        let mut line = format!("{{\"seq\":{seq},\"record\":{record}");
        let hash = hash(&self.hash, line.as_bytes());
        line.push_str(&format!("{BEFORE}{hash}{AFTER}\n"));
        (line, Link { seq, hash })
    }
}

fn hash(before: &str, line: &[u8]) -> String {
    let digest = Sha256::new().chain_update(before.as_bytes()).chain_update(line).finalize();
    hex(&digest)
}

/// The record and link of `line`, which has no newline and must follow `before`, or a message about
/// its fault.
pub fn read<'a>(line: &'a [u8], before: &Link) -> Result<(&'a str, Link), String> {
    let (record, link) = parse(line).ok_or("it is not a journal record")?;
    if link.seq != before.seq + 1 {
        return Err(format!("its number is {}", link.seq));
    }
    let body = &line[..line.len() - BEFORE.len() - DIGITS - AFTER.len()];
    if hash(&before.hash, body) != link.hash {
        return Err("its hash does not match its text and the records before it".to_owned());
    }
    Ok((record, link))
}

/// The record and link of a line, without checking its hash; `None` if the line has another format.
pub fn parse(line: &[u8]) -> Option<(&str, Link)> {
    let text = std::str::from_utf8(line).ok()?;
    let (body, hash) = text.strip_suffix(AFTER)?.split_at_checked(text.len().checked_sub(AFTER.len() + DIGITS)?)?;
    let is_digit = |digit: u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit);
    if !hash.bytes().all(is_digit) {
        return None;
    }
    let (seq, record) = body.strip_suffix(BEFORE)?.strip_prefix("{\"seq\":")?.split_once(",\"record\":")?;
    Some((record, Link { seq: seq.parse().ok()?, hash: hash.to_owned() }))
}

/// A line that differs from the original.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("record {record} is damaged: {why}")]
pub struct Damage {
    /// Line number, counted from 1.
    pub record: u64,
    pub why: String,
}

/// Reads and checks a chain from its beginning; calls `take` with each link, record and full line.
/// Returns the last link, or the first damage.
pub fn follow(mut lines: impl BufRead, mut take: impl FnMut(&Link, &str, &[u8])) -> io::Result<Result<Link, Damage>> {
    let mut link = Link::start();
    let mut line = Vec::new();
    loop {
        line.clear();
        let limit = LINE_MAX as u64 + 1;
        if io::Read::take(&mut lines, limit).read_until(b'\n', &mut line)? == 0 {
            return Ok(Ok(link));
        }
        let damage = |why: String| Ok(Err(Damage { record: link.seq + 1, why }));
        let Some(body) = line.strip_suffix(b"\n") else {
            return damage(
                "its line does not end; the program was killed while writing it, or somebody cut it".to_owned(),
            );
        };
        match read(body, &link) {
            Ok((record, next)) => {
                take(&next, record, &line);
                link = next;
            }
            Err(why) => return damage(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(records: &[&str]) -> (Vec<u8>, Link) {
        let mut link = Link::start();
        let mut text = String::new();
        for record in records {
            let (line, next) = link.next(record);
            text.push_str(&line);
            link = next;
        }
        (text.into_bytes(), link)
    }

    fn followed(text: &[u8]) -> Result<Vec<String>, Damage> {
        let mut records = Vec::new();
        follow(text, |_, record, _| records.push(record.to_owned())).unwrap().map(|_| records)
    }

    #[test]
    fn written_records_are_read_back() {
        let records = [r#"{"a":1}"#, r#"{"hash":"x","record":2}"#, r#""ü""#];
        assert_eq!(followed(&chain(&records).0).unwrap(), records);
        assert_eq!(followed(b"").unwrap(), Vec::<String>::new());
    }

    #[test]
    fn every_flipped_bit_is_found_in_its_record() {
        let (text, _) = chain(&[r#"{"first":1}"#, r#"{"second":"zwei"}"#, r#"{"third":[3]}"#]);
        for place in 0..text.len() {
            let record = 1 + text[..place].iter().filter(|byte| **byte == b'\n').count() as u64;
            for bit in 0..8 {
                let mut flipped = text.clone();
                flipped[place] ^= 1 << bit;
                let damage = followed(&flipped).expect_err("a flipped bit");
                assert_eq!(damage.record, record, "byte {place}, bit {bit}: {damage}");
            }
        }
    }

    #[test]
    fn a_removed_repeated_or_swapped_record_is_found() {
        let (text, _) = chain(&["1", "2", "3", "4"]);
        let lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
        for (order, record) in [(vec![0, 2, 3], 2), (vec![0, 1, 1, 2], 3), (vec![0, 2, 1, 3], 2), (vec![1, 2], 1)] {
            let other: Vec<u8> = order.iter().flat_map(|at| lines[*at].to_vec()).collect();
            assert_eq!(followed(&other).unwrap_err().record, record, "{order:?}");
        }
    }
}

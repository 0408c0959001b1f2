//! Every loop with each set of instructions, against the plain one and against the exact result.

use super::*;

/// Made-up numbers, always the same.
fn noise(count: usize) -> impl Iterator<Item = u8> {
    let mut state = 1_u32;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state.to_le_bytes()[1]
    })
    .take(count)
}

#[test]
fn every_processor_gives_the_same_bits() {
    for dimensions in [1, 7, 16, 64, 384, 1000] {
        let values: Vec<f32> = noise(dimensions * 50)
            .map(|byte| f32::from(byte) / 37.0 - 3.0)
            .collect();
        let rows: Vec<&[f32]> = values.chunks(dimensions).collect();
        for rows in [&rows[..], &[rows[49], rows[3], rows[3], rows[0]]] {
            let mut expected = vec![0.0; rows.len()];
            dots_plain(rows[1], rows, &mut expected);
            let bits = |sums: Vec<f32>| sums.into_iter().map(f32::to_bits).collect::<Vec<_>>();
            let expected = bits(expected);
            with_each(|_| assert_eq!(bits(dots(rows[1], rows)), expected));
        }
    }
}

/// The code of a number in a row of a plane.
fn code(row: Plane<'_>, number: usize) -> u8 {
    let half = CODES_AT_ONCE / 2;
    let byte = row[number / CODES_AT_ONCE * half + number % half];
    if number % CODES_AT_ONCE < half {
        byte & 0x0f
    } else {
        byte >> 4
    }
}

/// A query of extremes and anything between.
fn query(number: usize, length: usize) -> Vec<i8> {
    let extreme = [i8::MIN, i8::MAX][number % 2];
    let others = noise(length * (number + 1)).skip(number * length);
    let others = others.take(length - 1).map(u8::cast_signed);
    others.chain([extreme]).collect()
}

#[test]
fn products_with_a_plane_are_exact() {
    for (parts, count) in (1..8).zip([1, 2, 3, 4, 7, 8, 13]) {
        let length = parts * CODES_AT_ONCE;
        let plane: Vec<u8> = noise(length / 2 * 50)
            .chain(std::iter::repeat_n(255, length / 2))
            .collect();
        let queries: Vec<Vec<i8>> = (0..count).map(|nth| query(nth, length)).collect();
        let queries: Vec<&[i8]> = queries.iter().map(Vec::as_slice).collect();
        for rows in [51, 50, 3, 1] {
            let exact = queries.iter().flat_map(|query| {
                let rows = plane.chunks(length / 2).take(rows);
                rows.map(|row| -> i32 {
                    let products = query.iter().enumerate();
                    products
                        .map(|(nth, q)| i32::from(code(row, nth)) * i32::from(*q))
                        .sum()
                })
            });
            let exact: Vec<i32> = exact.collect();
            with_each(|instructions| {
                let mut sums = vec![9];
                plane_dots(&queries, &plane, rows, &plane[..length / 2], &mut sums);
                assert_eq!(sums, exact, "{instructions:?}");
            });
        }
    }
}

#[test]
fn products_with_both_planes_are_exact() {
    for parts in 1..6 {
        let length = parts * CODES_AT_ONCE;
        let plane: Vec<u8> = noise(length / 2 * 20).collect();
        let rows: Vec<&[u8]> = plane.chunks(length / 2).collect();
        let rows: Vec<Planes<'_>> = rows.windows(2).map(|pair| [pair[0], pair[1]]).collect();
        let queries = [query(0, length), query(1, length)];
        let exact = rows.iter().map(|[high, low]| {
            [0, 1].map(|which: usize| -> i32 {
                let numbers = queries[which].iter().enumerate();
                let product = |(nth, q): (usize, &i8)| {
                    i32::from(16 * code(high, nth) + code(low, nth)) * i32::from(*q)
                };
                numbers.map(product).sum()
            })
        });
        let exact: Vec<[i32; 2]> = exact.collect();
        with_each(|instructions| {
            let found = code_dots([&queries[0], &queries[1]], &rows);
            assert_eq!(found, exact, "{instructions:?}");
        });
    }
}

#[test]
fn sums_over_sign_bits_are_exact() {
    // The last is beyond what 16 bits hold.
    for width in [1, 2, 5, 24, 25, 300].map(|width| width * GROUPS_AT_ONCE) {
        let bytes: Vec<u8> = noise(width * TILE / 2).collect();
        let (signs, _) = bytes.as_chunks::<{ SIGN_ROWS / 2 }>();
        let entries = noise(16 * width).map(|byte| byte.min(LARGEST_ENTRY));
        let entries: Vec<u8> = entries.collect();
        let (table, _) = entries.as_chunks::<16>();
        // The last tile of a block may have fewer rows.
        for parts in [TILE / SIGN_ROWS, 1] {
            let mut exact = [7; TILE];
            for (row, exact) in exact.iter_mut().enumerate().take(parts * SIGN_ROWS) {
                let entry = |(group, entries): (usize, &SignTable)| {
                    let byte = signs[row / SIGN_ROWS * width + group][row % 16];
                    let bits = if row % SIGN_ROWS < 16 {
                        byte & 15
                    } else {
                        byte >> 4
                    };
                    u32::from(entries[usize::from(bits)])
                };
                *exact = table.iter().enumerate().map(entry).sum();
            }
            with_each(|instructions| {
                let mut sums = [7; TILE];
                sign_sums(table, &signs[..parts * width], &mut sums);
                assert_eq!(sums, exact, "{instructions:?} {width}");
            });
        }
    }
}

#[test]
fn every_processor_finds_the_same_rows_within_reach() {
    let line = BoundCoefficients {
        base: 0.1,
        scale: 0.01,
        margin: 0.9,
        slack: 0.02,
    };
    for count in 0..=TILE {
        let sums: Vec<f32> = noise(count)
            .map(|byte| f32::from(byte) * 16.0 - 1000.0)
            .collect();
        let numbers = noise(2 * count).map(|byte| f32::from(byte) / 1000.0);
        let (factors, errors): (Vec<f32>, Vec<f32>) = numbers.map(|n| (n, n / 7.0)).unzip();
        let rows = (&*sums, &factors[..count], &errors[count..]);
        for threshold in [f32::NEG_INFINITY, -1.0, 0.5, 1.0, f32::INFINITY] {
            let found = reach_plain(line, rows, threshold);
            with_each(|_| assert_eq!(above_threshold_mask(line, rows, threshold), found));
            for nth in 0..TILE {
                let upper_bound = rows.0.get(nth).map(|sum| {
                    let middle = 0.1 + f64::from(*sum) * 0.01 * f64::from(rows.1[nth]);
                    middle + f64::from(rows.2[nth]) * 0.9 + 0.02
                });
                let sure = upper_bound.filter(|h| (h - f64::from(threshold)).abs() > 1e-4);
                if sure.is_some() || upper_bound.is_none() {
                    let reaches = upper_bound.is_some_and(|h| h.max(-1.0) >= threshold.into());
                    assert_eq!(found >> nth & 1 == 1, reaches, "{nth} of {count}");
                }
            }
        }
    }
}

#[test]
fn every_number_counts_once() {
    for length in 0..70_u16 {
        let left: Vec<f32> = (0..length).map(f32::from).collect();
        let right = vec![2.0; left.len()];
        // Without a zero of either sign: `max` may return any of the two.
        let expected = f32::from(length) * f32::from(length.saturating_sub(1));
        assert_eq!(dot(&left, &right).to_bits(), expected.to_bits());
    }
}

/// Numbers from -3 to 4, always the same.
fn floats(count: usize) -> Vec<f32> {
    noise(count)
        .map(|byte| f32::from(byte) / 37.0 - 3.0)
        .collect()
}

#[test]
fn a_rotation_adds_pairs_of_numbers_in_the_simplest_order() {
    for dimensions in [1, 2, 15, 16, 17, 64, 255, 256, 257, 384, 512, 768, 1100] {
        let mixed = 1 << usize::ilog2(dimensions);
        #[allow(clippy::cast_precision_loss, reason = "at most 1,024")]
        let scale = 1.0 / (mixed as f32).sqrt();
        let signs = [0.0, 1.0, 2.0, 3.0].map(|round| -> Vec<f32> {
            let noise = floats(dimensions).into_iter();
            noise.map(|x| (x - round).signum()).collect()
        });
        let mut expected = floats(dimensions);
        for (round, signs) in signs.iter().enumerate() {
            for (x, sign) in expected.iter_mut().zip(signs) {
                *x *= sign;
            }
            let from = if round % 2 == 0 {
                0
            } else {
                dimensions - mixed
            };
            let part = &mut expected[from..from + mixed];
            for half in (0..)
                .map(|power| 1 << power)
                .take_while(|half| *half < mixed)
            {
                for at in (0..mixed).filter(|at| at & half == 0) {
                    let (left, right) = (part[at], part[at + half]);
                    (part[at], part[at + half]) = (left + right, left - right);
                }
            }
            for x in part {
                *x *= scale;
            }
        }
        with_each(|level| {
            let mut rotated = floats(dimensions);
            rotate(&mut rotated, &signs, mixed);
            assert_eq!(rotated, expected, "{dimensions} {level:?}");
        });
    }
}

#[test]
fn every_processor_rounds_to_the_same_codes_and_errors() {
    for dimensions in [1, 15, 16, 17, 384, 1000] {
        let (vector, step) = (floats(dimensions), 0.013);
        let mut expected = Vec::new();
        let mut squares = [[0.0_f32; 16]; 2];
        for (at, x) in vector.iter().enumerate() {
            let code = (x / step + 127.5).round().clamp(0.0, 255.0);
            let off = [
                x - (code - 127.5) * step,
                x - 16.0 * ((code / 16.0).floor() - 7.5) * step,
            ];
            #[allow(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "whole and at most 255"
            )]
            expected.push(code as u8);
            for (squares, off) in squares.iter_mut().zip(off) {
                squares[at % 16] += off * off;
            }
        }
        let errors = squares.map(|squares| squares.iter().sum::<f32>().sqrt());
        with_each(|level| {
            let mut codes = Vec::new();
            let found = round(&vector, step, &mut codes);
            assert_eq!(
                (&codes, found),
                (&expected, errors),
                "{dimensions} {level:?}"
            );
        });
    }
}

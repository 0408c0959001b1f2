//! The loop over sign bits for `AArch64`, whose lookups the compiler does not find in the plain one.

use std::arch::aarch64::{
    uint8x16_t, uint16x8_t, vaddq_u8, vaddw_high_u8, vaddw_u8, vandq_u8, vdupq_n_u8, vdupq_n_u16,
    vget_low_u8, vld1q_u8, vqtbl1q_u8, vshrq_n_u8, vst1q_u16,
};

use super::plain::{GROUPS_AT_ONCE, GROUPS_PER_SUM, SIGN_ROWS, SignGroup, SignTable, TILE};

#[target_feature(enable = "neon")]
pub fn sign_sums_neon(table: &[SignTable], signs: &[SignGroup], sums: &mut [u32; TILE]) {
    let rows = signs.chunks_exact(table.len().max(1));
    for (groups, sums) in rows.zip(sums.as_chunks_mut::<SIGN_ROWS>().0) {
        *sums = [0; SIGN_ROWS];
        let parts = groups.chunks(GROUPS_PER_SUM);
        for (groups, table) in parts.zip(table.chunks(GROUPS_PER_SUM)) {
            for (sum, part) in sums.iter_mut().zip(sums_of_groups(groups, table)) {
                *sum += u32::from(part);
            }
        }
    }
}

/// The sums of groups that are few enough for 16 bits.
#[target_feature(enable = "neon")]
#[inline]
fn sums_of_groups(groups: &[SignGroup], table: &[SignTable]) -> [u16; SIGN_ROWS] {
    let mask = vdupq_n_u8(0x0f);
    // Eight rows each, in order.
    let mut sums = [vdupq_n_u16(0); SIGN_ROWS / 8];
    let groups = groups.as_chunks::<GROUPS_AT_ONCE>().0;
    for (groups, table) in groups.iter().zip(table.as_chunks::<GROUPS_AT_ONCE>().0) {
        let mut bytes = [vdupq_n_u8(0); 2];
        for (group, entries) in groups.iter().zip(table) {
            let (group, entries) = (load(group), load(entries));
            let (low, high) = (vandq_u8(group, mask), vshrq_n_u8::<4>(group));
            bytes[0] = vaddq_u8(bytes[0], vqtbl1q_u8(entries, low));
            bytes[1] = vaddq_u8(bytes[1], vqtbl1q_u8(entries, high));
        }
        for (sums, bytes) in sums.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
            sums[0] = vaddw_u8(sums[0], vget_low_u8(bytes));
            sums[1] = vaddw_high_u8(sums[1], bytes);
        }
    }
    let mut found = [0; SIGN_ROWS];
    for (found, sums) in found.as_chunks_mut().0.iter_mut().zip(sums) {
        store(found, sums);
    }
    found
}

#[target_feature(enable = "neon")]
#[inline]
fn load(bytes: &[u8; 16]) -> uint8x16_t {
    // SAFETY: 16 bytes are loaded, and the array has as many.
    unsafe { vld1q_u8(bytes.as_ptr()) }
}

#[target_feature(enable = "neon")]
#[inline]
fn store(found: &mut [u16; 8], sums: uint16x8_t) {
    // SAFETY: eight numbers of 16 bits are stored, and the array has room for as many.
    unsafe { vst1q_u16(found.as_mut_ptr(), sums) };
}

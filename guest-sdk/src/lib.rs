//! Guest side.
#![no_std]

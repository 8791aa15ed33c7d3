//! Instructions with labels instead of distances.

use super::{Instruction, Program};

/// A number.
pub(super) const LOAD_NUMBER: u16 = 0x00;
/// 32, 16 or 8 bits of the packet.
pub(super) const LOAD_WORD: u16 = 0x20;
pub(super) const LOAD_HALF: u16 = 0x28;
pub(super) const LOAD_BYTE: u16 = 0x30;
/// The same, at an offset in the index register.
pub(super) const LOAD_HALF_FROM_INDEX: u16 = 0x48;
pub(super) const LOAD_BYTE_FROM_INDEX: u16 = 0x50;
/// A place of the scratch memory.
pub(super) const LOAD_NOTE: u16 = 0x60;
pub(super) const STORE_NOTE: u16 = 0x02;
pub(super) const ADD: u16 = 0x04;
pub(super) const ADD_INDEX: u16 = 0x0c;
pub(super) const AND: u16 = 0x54;
pub(super) const SHIFT_LEFT: u16 = 0x64;
pub(super) const SHIFT_RIGHT: u16 = 0x74;
pub(super) const TO_INDEX: u16 = 0x07;
pub(super) const FROM_INDEX: u16 = 0x87;
pub(crate) const RETURN: u16 = 0x06;
const LOAD_INDEX_NUMBER: u16 = 0x01;
pub(super) const JUMP: u16 = 0x05;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_ABOVE: u16 = 0x25;
const JUMP_AT_LEAST: u16 = 0x35;

/// A place in the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Label(usize);

/// A program that is being written. Conditions reach no further than the instruction behind the next one, since their
/// distances have 8 bits; a plain jump reaches anywhere.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    instructions: Vec<Instruction>,
    places: Vec<Option<usize>>,
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    /// Does something to the register.
    pub(super) fn then(&mut self, code: u16, operand: u32) -> &mut Self {
        self.instructions.push(Instruction::plain(code, operand));
        self
    }

    /// Sets the index register.
    pub(super) fn index(&mut self, number: u32) {
        self.then(LOAD_INDEX_NUMBER, number);
    }

    /// A label that is yet to be placed.
    pub(super) fn label(&mut self) -> Label {
        self.places.push(None);
        Label(self.places.len() - 1)
    }

    /// Places a label before the next instruction.
    pub(super) fn place(&mut self, label: Label) {
        self.places[label.0] = Some(self.instructions.len());
    }

    /// Jumps to a label.
    pub(super) fn jump(&mut self, to: Label) {
        self.jumps.push((self.instructions.len(), to));
        self.then(JUMP, 0);
    }

    /// Jumps to a label if the register has this value.
    pub(super) fn jump_if_equal(&mut self, number: u32, to: Label) {
        self.condition(JUMP_EQUAL, number, [0, 1]);
        self.jump(to);
    }

    /// Jumps to a label unless the register has this value.
    pub(super) fn require_equal(&mut self, number: u32, otherwise: Label) {
        self.condition(JUMP_EQUAL, number, [1, 0]);
        self.jump(otherwise);
    }

    /// Jumps to a label unless the register is between these two, inclusive.
    pub(super) fn require_within(&mut self, [first, last]: [u32; 2], otherwise: Label) {
        self.condition(JUMP_AT_LEAST, first, [1, 0]);
        self.jump(otherwise);
        self.condition(JUMP_ABOVE, last, [0, 1]);
        self.jump(otherwise);
    }

    fn condition(&mut self, code: u16, operand: u32, [jump_true, jump_false]: [u8; 2]) {
        self.instructions.push(Instruction { code, jump_true, jump_false, operand });
    }

    /// The program, in which all labels are placed.
    pub(super) fn finish(mut self) -> Program {
        for (at, label) in self.jumps {
            let place = self.places[label.0].expect("a label that is jumped to is placed");
            let distance = place.checked_sub(at + 1).expect("jumps go forward");
            self.instructions[at].operand = distance as u32;
        }
        Program(self.instructions)
    }
}

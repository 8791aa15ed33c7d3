//! Programs that classify packets, in the classic packet filter's instructions (bpf(4)).
//!
//! The kernel's `cls_bpf` runs such a program for each packet and uses its return value as the class. It needs no
//! compiler and no library, `tc` accepts it as text, and replacing one by another is one step.

mod assembler;
mod classifier;
mod neighbours;

use std::fmt;

use serde_json::Value;

pub use classifier::{Choice, TooLong, classifier};
pub use neighbours::neighbours;

pub(crate) use assembler::RETURN;

/// An instruction, as the kernel's `struct sock_filter` has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    /// What is done.
    pub code: u16,
    /// The number of instructions to skip if a condition holds.
    pub jump_true: u8,
    /// The number to skip if it does not.
    pub jump_false: u8,
    /// The operand.
    pub operand: u32,
}

/// Instructions, of which the kernel takes up to [`Program::MAX_INSTRUCTIONS`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program(Vec<Instruction>);

impl Program {
    /// The most that a kernel takes (`BPF_MAXINSNS`).
    pub const MAX_INSTRUCTIONS: usize = 4096;

    /// The longest text that one holds, in bytes.
    pub(crate) const MAX_TEXT: usize = 4 * (Program::MAX_INSTRUCTIONS - 2);

    /// The instructions in order.
    pub fn instructions(&self) -> &[Instruction] {
        &self.0
    }

    /// A program that takes no packet, steps over `text` and holds it where its operands are.
    ///
    /// # Panics
    /// When the text has more than [`MAX_TEXT`](Self::MAX_TEXT) bytes.
    pub(crate) fn passing_by(text: &str) -> Program {
        Program::with_text(text, 0)
    }

    /// A program that takes every packet, and holds `text` in the same way.
    ///
    /// # Panics
    /// As [`passing_by`](Self::passing_by).
    pub(crate) fn taking_all(text: &str) -> Program {
        Program::with_text(text, u32::MAX)
    }

    /// A program that steps over `text` and returns `result`.
    fn with_text(text: &str, result: u32) -> Program {
        let words = text.as_bytes().chunks(4).map(|bytes| {
            let mut word = [0; 4];
            word[..bytes.len()].copy_from_slice(bytes);
            Instruction::plain(assembler::LOAD_NUMBER, u32::from_be_bytes(word))
        });
        let words: Vec<Instruction> = words.collect();
        let over = Instruction::plain(assembler::JUMP, words.len() as u32);
        let end = Instruction::plain(assembler::RETURN, result);
        let program = Program([vec![over], words, vec![end]].concat());
        assert!(
            program.0.len() <= Program::MAX_INSTRUCTIONS,
            "{} bytes are kept to what fits",
            text.len()
        );
        program
    }

    /// The program of a filter, as tc lists it.
    pub(crate) fn listed(filter: &Value) -> Option<Program> {
        let instructions = filter["options"]["bytecode"]["insns"].as_array()?;
        let instruction = |it: &Value| {
            Some(Instruction {
                code: it["code"].as_u64()?.try_into().ok()?,
                jump_true: it["jt"].as_u64()?.try_into().ok()?,
                jump_false: it["jf"].as_u64()?.try_into().ok()?,
                operand: it["k"].as_u64()?.try_into().ok()?,
            })
        };
        instructions.iter().map(instruction).collect::<Option<_>>().map(Program)
    }

    /// Whether it returns this for every packet.
    pub(crate) fn always_returns(&self, result: u32) -> bool {
        const CLASS: u16 = 0x07;
        let returns = self.0.iter().filter(|it| it.code & CLASS == assembler::RETURN & CLASS);
        returns.into_iter().all(|it| it.code == assembler::RETURN && it.operand == result)
    }

    /// The text in a program that holds one, as tc lists it among filters.
    pub(crate) fn held(filter: &Value) -> Option<String> {
        let instructions = filter["options"]["bytecode"]["insns"].as_array()?;
        let words = instructions.iter().filter(|it| it["code"] == assembler::LOAD_NUMBER);
        let operands = words.map(|it| it["k"].as_u64().unwrap_or(0) as u32);
        let mut bytes: Vec<u8> = operands.flat_map(u32::to_be_bytes).collect();
        let length = bytes.iter().rposition(|byte| *byte != 0)? + 1;
        bytes.truncate(length);
        String::from_utf8(bytes).ok()
    }
}

impl Instruction {
    /// Without jumps.
    const fn plain(code: u16, operand: u32) -> Instruction {
        Instruction { code, jump_true: 0, jump_false: 0, operand }
    }
}

/// As `tc … bpf bytecode` takes it.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.len())?;
        for Instruction { code, jump_true, jump_false, operand } in &self.0 {
            write!(f, ",{code} {jump_true} {jump_false} {operand}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_program_holds_comes_out_again() {
        let texts = ["a", "four", "Überholspur: Gespräche"];
        let both = texts.map(|text| [Program::passing_by(text), Program::taking_all(text)]);
        for (text, program) in
            texts.into_iter().zip(both).flat_map(|(text, both)| both.map(|one| (text, one)))
        {
            let listed = program.instructions().iter();
            let listed: Vec<_> =
                listed.map(|it| json!({ "code": it.code, "k": it.operand })).collect();
            let filter = json!({ "options": { "bytecode": { "insns": listed } } });
            assert_eq!(Program::held(&filter).as_deref(), Some(text));
        }
        assert_eq!(Program::passing_by("ab").to_string(), "3,5 0 0 1,0 0 0 1633812480,6 0 0 0");
        let all = Program::taking_all("ab").to_string();
        assert_eq!(all, "3,5 0 0 1,0 0 0 1633812480,6 0 0 4294967295");
    }
}

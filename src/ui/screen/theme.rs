//! The styles of the screen: the terminal's sixteen colours, or none.

use ratatui::style::{Color, Modifier, Style};

/// Whether colours are used. Without them, modifiers and signs carry the meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    #[default]
    Coloured,
    Plain,
}

impl Theme {
    /// Any non-empty value of `NO_COLOR` turns colours off: no-color.org.
    pub fn of_environment() -> Theme {
        let without = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if without { Theme::Plain } else { Theme::Coloured }
    }

    fn style(self, colour: Color, otherwise: Modifier) -> Style {
        match self {
            Theme::Coloured => Style::new().fg(colour),
            Theme::Plain => Style::new().add_modifier(otherwise),
        }
    }

    pub fn plain(self) -> Style {
        Style::new()
    }

    pub fn dim(self) -> Style {
        self.style(Color::DarkGray, Modifier::DIM)
    }

    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub fn good(self) -> Style {
        self.style(Color::Green, Modifier::empty())
    }

    pub fn bad(self) -> Style {
        self.style(Color::Red, Modifier::BOLD)
    }

    pub fn warning(self) -> Style {
        self.style(Color::Yellow, Modifier::BOLD)
    }

    /// The user's own words, prompts and markers, and code in a sentence.
    pub fn accent(self) -> Style {
        self.style(Color::Cyan, Modifier::BOLD)
    }

    pub fn keyword(self) -> Style {
        self.style(Color::Magenta, Modifier::empty())
    }

    pub fn number(self) -> Style {
        self.style(Color::Yellow, Modifier::empty())
    }

    pub fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// The style of the holder at position `place` in the memory gauge.
    pub fn holder(self, place: usize) -> Style {
        const COLOURS: [Color; 4] = [Color::Blue, Color::Magenta, Color::Cyan, Color::Yellow];
        self.style(COLOURS[place % COLOURS.len()], Modifier::empty())
    }
}

//! A radix tree over tokens: finds the stored sequence that shares the longest prefix with a prompt.

use crate::engine::decoder::Token;
use crate::engine::slot;

/// Values by token sequence. Sequences with a common prefix share its nodes.
#[derive(Debug)]
pub struct Tree<V> {
    root: Node<V>,
}

#[derive(Debug)]
struct Node<V> {
    /// Tokens from the parent to this node; empty only at the root.
    label: Vec<Token>,
    value: Option<V>,
    /// No two labels begin with the same token.
    children: Vec<Node<V>>,
}

impl<V> Default for Tree<V> {
    fn default() -> Tree<V> {
        Tree { root: Node { label: Vec::new(), value: None, children: Vec::new() } }
    }
}

impl<V> Tree<V> {
    /// Stores `value` under `tokens`; returns the value it replaces.
    pub fn insert(&mut self, tokens: &[Token], value: V) -> Option<V> {
        self.root.insert(tokens, value)
    }

    pub fn remove(&mut self, tokens: &[Token]) -> Option<V> {
        self.root.remove(tokens)
    }

    /// The length of the longest prefix that `prompt` shares with a stored sequence, and the value of a sequence that
    /// has that prefix. `None` if no sequence shares a token.
    pub fn longest(&self, prompt: &[Token]) -> Option<(usize, &V)> {
        let (mut node, mut shared) = (&self.root, 0);
        loop {
            let rest = &prompt[shared..];
            let Some(child) = node.child(rest) else { break };
            let common = slot::shared(&child.label, rest);
            shared += common;
            node = child;
            if common < child.label.len() {
                break;
            }
        }
        if shared == 0 { None } else { node.nearest().map(|value| (shared, value)) }
    }
}

impl<V> Node<V> {
    fn child(&self, tokens: &[Token]) -> Option<&Node<V>> {
        let first = tokens.first()?;
        self.children.iter().find(|child| child.label[0] == *first)
    }

    fn insert(&mut self, tokens: &[Token], value: V) -> Option<V> {
        let Some(first) = tokens.first() else { return self.value.replace(value) };
        let Some(child) = self.children.iter_mut().find(|child| child.label[0] == *first) else {
            self.children.push(Node { label: tokens.to_vec(), value: Some(value), children: Vec::new() });
            return None;
        };
        let shared = slot::shared(&child.label, tokens);
        if shared < child.label.len() {
            child.split(shared);
        }
        child.insert(&tokens[shared..], value)
    }

    /// Cuts the label at `at`: value and children move into a new child.
    fn split(&mut self, at: usize) {
        let rest = self.label.split_off(at);
        let below = Node { label: rest, value: self.value.take(), children: std::mem::take(&mut self.children) };
        self.children.push(below);
    }

    fn remove(&mut self, tokens: &[Token]) -> Option<V> {
        if tokens.is_empty() {
            return self.value.take();
        }
        let index = self.children.iter().position(|child| tokens.starts_with(&child.label))?;
        let child = &mut self.children[index];
        let removed = child.remove(&tokens[child.label.len()..])?;
        child.join();
        if child.value.is_none() && child.children.is_empty() {
            self.children.swap_remove(index);
        }
        Some(removed)
    }

    /// Merges a node that has no value and one child with that child.
    fn join(&mut self) {
        if self.value.is_none() && self.children.len() == 1 {
            let only = self.children.remove(0);
            self.label.extend(only.label);
            self.value = only.value;
            self.children = only.children;
        }
    }

    /// The value of this node or else of the first one with a value when following first children.
    fn nearest(&self) -> Option<&V> {
        let mut node = self;
        loop {
            if node.value.is_some() {
                return node.value.as_ref();
            }
            node = node.children.first()?;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn tokens(values: &[i32]) -> Vec<Token> {
        values.iter().copied().map(Token).collect()
    }

    #[test]
    fn the_longest_shared_prefix_is_found_inside_an_edge_too() {
        let mut tree = Tree::default();
        tree.insert(&tokens(&[1, 2, 3, 4]), 'a');
        tree.insert(&tokens(&[1, 2, 9]), 'b');
        assert_eq!(tree.longest(&tokens(&[1, 2, 3, 7])), Some((3, &'a')));
        assert_eq!(tree.longest(&tokens(&[1, 2, 9, 9])), Some((3, &'b')));
        assert_eq!(tree.longest(&tokens(&[1, 5])).map(|(shared, _)| shared), Some(1));
        assert_eq!(tree.longest(&tokens(&[5])), None);
    }

    #[derive(Clone, Debug)]
    enum Operation {
        Insert(Vec<i32>, u8),
        Remove(Vec<i32>),
    }

    fn sequence() -> impl Strategy<Value = Vec<i32>> {
        proptest::collection::vec(0..3i32, 0..7)
    }

    proptest! {
        /// Compares the tree with a map and a scan of all its keys.
        #[test]
        fn the_tree_agrees_with_a_scan_of_all_sequences(
            operations in proptest::collection::vec(
                prop_oneof![
                    (sequence(), any::<u8>()).prop_map(|(key, value)| Operation::Insert(key, value)),
                    sequence().prop_map(Operation::Remove),
                ],
                0..40,
            ),
            prompt in sequence(),
        ) {
            let (mut tree, mut map) = (Tree::default(), BTreeMap::new());
            for operation in operations {
                match operation {
                    Operation::Insert(key, value) => {
                        prop_assert_eq!(tree.insert(&tokens(&key), value), map.insert(tokens(&key), value));
                    }
                    Operation::Remove(key) => prop_assert_eq!(tree.remove(&tokens(&key)), map.remove(&tokens(&key))),
                }
            }
            let prompt = tokens(&prompt);
            let best = map.keys().map(|key| slot::shared(key, &prompt)).max().filter(|&shared| shared > 0);
            let found = tree.longest(&prompt);
            prop_assert_eq!(found.map(|(shared, _)| shared), best);
            if let Some((shared, value)) = found {
                prop_assert!(map.iter().any(|(key, held)| held == value && slot::shared(key, &prompt) == shared));
            }
        }
    }
}

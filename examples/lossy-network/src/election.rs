//! How the nodes elect their leader.
//!
//! Time is in rounds, and what is sent in one is received in the next. A leader sends a beat to all others in each round. A
//! follower that has not heard one for as long as its patience lasts stands for election: it begins the next term, votes for
//! itself and asks the others for their votes. Each node has one vote in a term. Who gets two of three leads. A
//! leader that hears of no follower for as long gives up.

/// How many nodes there are.
pub const NODES: usize = 3;

/// What one node tells another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who sends it.
    pub from: usize,
    /// Who should receive it.
    pub to: usize,
    /// The sender's term.
    pub term: u32,
    /// What it says.
    pub what: What,
}

/// What a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// I lead.
    Beat,
    /// I follow.
    Heard,
    /// I want to lead.
    Ask,
    /// You have my vote.
    Vote,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Leader,
    Candidate { votes: usize },
    Follower { of: usize },
}

#[derive(Clone, Debug)]
struct Node {
    role: Role,
    term: u32,
    /// Rounds since anybody was heard who matters.
    silence: u32,
}

/// All nodes and what is under way.
#[derive(Clone)]
pub struct Election {
    nodes: [Node; NODES],
    sent: Vec<Message>,
    patience: fn(usize) -> u32,
}

impl std::fmt::Debug for Election {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.nodes.fmt(f)
    }
}

impl Election {
    /// Node 0 leads; each has its own patience, in rounds.
    pub fn new(patience: fn(usize) -> u32) -> Self {
        let nodes = std::array::from_fn(|node| Node {
            role: if node == 0 { Role::Leader } else { Role::Follower { of: 0 } },
            term: 0,
            silence: 0,
        });
        Self { nodes, sent: Vec::new(), patience }
    }

    /// The node that leads, if all know it.
    pub fn leader(&self) -> Option<usize> {
        let leader = self.nodes.iter().position(|node| node.role == Role::Leader)?;
        let others = self.nodes.iter().enumerate().filter(|(node, _)| *node != leader);
        let follow = others.map(|(_, node)| node).all(|node| node.role == Role::Follower { of: leader });
        follow.then_some(leader)
    }

    /// What was sent arrives, unless it is lost; then everybody acts.
    pub fn round(&mut self, mut is_lost: impl FnMut(&Message) -> bool) {
        for message in std::mem::take(&mut self.sent) {
            if !is_lost(&message) {
                self.receive(message);
            }
        }
        for node in 0..NODES {
            self.act(node);
        }
    }

    fn receive(&mut self, message: Message) {
        let node = &mut self.nodes[message.to];
        if message.term < node.term {
            return;
        }
        let is_newer = message.term > node.term;
        node.term = message.term;
        match message.what {
            What::Beat => {
                (node.role, node.silence) = (Role::Follower { of: message.from }, 0);
                self.send(message.to, message.from, What::Heard);
            }
            What::Heard if node.role == Role::Leader => node.silence = 0,
            What::Ask if is_newer => {
                (node.role, node.silence) = (Role::Follower { of: message.from }, 0);
                self.send(message.to, message.from, What::Vote);
            }
            What::Vote => {
                if let Role::Candidate { votes } = &mut node.role {
                    *votes += 1;
                    if *votes > NODES / 2 {
                        (node.role, node.silence) = (Role::Leader, 0);
                    }
                }
            }
            What::Heard | What::Ask => {}
        }
    }

    fn act(&mut self, node: usize) {
        let patience = (self.patience)(node);
        let state = &mut self.nodes[node];
        state.silence += 1;
        if state.silence > patience {
            state.term += 1;
            (state.role, state.silence) = (Role::Candidate { votes: 1 }, 0);
            self.send_all(node, What::Ask);
        } else if state.role == Role::Leader {
            self.send_all(node, What::Beat);
        }
    }

    fn send_all(&mut self, from: usize, what: What) {
        (0..NODES).filter(|&to| to != from).for_each(|to| self.send(from, to, what));
    }

    fn send(&mut self, from: usize, to: usize, what: What) {
        self.sent.push(Message { from, to, term: self.nodes[from].term, what });
    }
}

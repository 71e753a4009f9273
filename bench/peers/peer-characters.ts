import type { PeerName } from './peer-contestants.ts'

export interface Character {
  /** The data on disk, and when it is written. */
  keeps: string
  /** The state after a crash in the middle of a turn. */
  afterCrash: string
  /** The work in a turn that a bare loop does not do. */
  does: string
  /** The part of a session that goes into a request. */
  sends: string
}

const familiar: Character = {
  keeps: 'message before it is acknowledged, every step, cost, audit; memory of the conversation',
  afterCrash: 'the turn continues from its last complete step; nothing that may happen once happens twice',
  does: 'recall by words, budget reserved before the call, policy and audit of tools, keeps the lines as memory',
  sends: 'the session until it is compacted; ten or so tools of its own',
}

/** The trade-offs behind the figures: a row that stores nothing does less work than one that cannot lose a message. */
export const peerCharacters: Record<PeerName, Character> = {
  'bare loop': {
    keeps: 'nothing',
    afterCrash: 'session and turn are gone',
    does: 'fetch and JSON',
    sends: 'the whole session',
  },
  'AI SDK': {
    keeps: 'nothing (a library: storing is left to its user)',
    afterCrash: 'session and turn are gone',
    does: 'provider abstraction, validated tool input, steps',
    sends: 'the whole session',
  },
  'Mastra, memory': {
    keeps: 'messages, in libSQL, written as the turn is saved',
    afterCrash: 'earlier turns are there; the running one is not taken up again',
    does: 'thread and messages read from and written to the store',
    sends: 'the last 10 messages (its default)',
  },
  'Mastra, memory and recall': {
    keeps: 'messages and their vectors, in libSQL',
    afterCrash: 'earlier turns are there; the running one is not taken up again',
    does: 'the same, and recall by meaning before the turn (hash vectors: no time of a model)',
    sends: 'the last 10 messages and what was recalled',
  },
  'LangGraph, SQLite': {
    keeps: 'a checkpoint of the whole state at each step, in SQLite (`durability` async, its default)',
    afterCrash: 'can continue from the last checkpoint if its user calls it again; a step may run twice',
    does: 'graph with reducers and checkpoints; no recall',
    sends: 'the whole session',
  },
  'Familiar, in process': { ...familiar, does: `${familiar.does}; asked without HTTP` },
  'Familiar, conversations not kept': {
    ...familiar,
    keeps: 'the same but for the memory of the conversation',
    does: 'as Familiar, without keeping the lines as memory',
  },
  Familiar: { ...familiar, does: `${familiar.does}; HTTP with token, Host and Origin checks` },
}

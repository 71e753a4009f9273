/**
 * The maximum contribution of each signal. Chosen by grid search on separate conversations, leaving one conversation
 * out at a time, and rounded: see docs/decisions/0005. They are the same for all users.
 */
export const weights = {
  meaning: 0.6,
  words: 0.6,
  'thread meaning': 0.2,
  'thread words': 0.1,
  dates: 1,
  speaker: 0.2,
  role: 0.3,
  number: 0.15,
  self: 0.1,
  standing: 0.3,
  kept: 0.15,
  graph: 0.2,
  tags: 0.05,
  strength: 0.05,
  recency: 0.05,
  'asks itself': -0.15,
  'says little': -0.1,
  'is long': -0.15,
  'is cut': -0.2,
  'has many passages': -0.3,
} as const

export type SignalName = keyof typeof weights

import { attributeKey } from './fold-text.ts'

/** What somebody usually has several of at once. Everything else is one, until the user declares otherwise. */
const attributes = `
  like, dislike, love, hate, enjoys, interest, interested in, hobby, pastime, sport, plays, instrument, skill, language,
  spoken language, language spoken, speaks, nickname, pet, dog, cat, child, kid, son, daughter, parent, sibling, brother,
  sister, grandchild, cousin, uncle, aunt, nephew, niece, relative, friend, colleague, coworker, neighbour, neighbor,
  allergy, allergic to, intolerance, dietary restriction, medication, medical condition, fear, goal, habit, owns,
  subscription, membership, member of, knows, visited, has visited, lived in, has lived in, trip, award, reminder
`

const keys = new Set(attributes.split(',').map(attributeKey))

export function isUsuallyMultiValued(key: string): boolean {
  return keys.has(key)
}

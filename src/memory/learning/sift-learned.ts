import { entityKey } from '../fold-text.ts'
import { isAboutTheAgent } from './about-the-agent.ts'
import { type Evidence, isGrounded } from './grounding.ts'
import { holdsSecret } from './holds-secret.ts'
import type { Learned, LearnedAlias, LearnedCommitment, LearnedFact, LearnedNote } from './learned.ts'

export interface Sifted {
  kept: Learned
  dropped: number
}

/**
 * What of a model's answer may be kept. The model is not trusted: whatever the user's own words do not bear out, speaks
 * of the agent, or holds a secret is dropped, however well it is put.
 */
export function siftLearned(
  learned: Learned,
  { evidence, knownNames, agentName }: { evidence: Evidence; knownNames: ReadonlySet<string>; agentName?: string },
): Sifted {
  const isFit = (text: string) => !holdsSecret(text) && !isAboutTheAgent(text, agentName)
  const isSomeone = (name: string) => {
    const key = entityKey(name)
    return isFit(name) && (key === 'user' || knownNames.has(key) || isGrounded(name, evidence))
  }
  const keepsNote = (note: LearnedNote) => isFit(note.content) && isGrounded(note.content, evidence)
  const keepsFact = ({ entity, attribute, value }: LearnedFact) =>
    isSomeone(entity) &&
    isFit(`${attribute}: ${value}`) &&
    isFit(value) &&
    (isGrounded(value, evidence) || knownNames.has(entityKey(value)))
  const keepsCommitment = ({ who, toWhom, what }: LearnedCommitment) =>
    isSomeone(who) && (toWhom === null || isSomeone(toWhom)) && isFit(what) && isGrounded(what, evidence)
  // A name that stands for another must have been said; the other may be known from before.
  const keepsAlias = ({ alias, entity }: LearnedAlias) =>
    isSomeone(alias) && isSomeone(entity) && isGrounded(alias, evidence)

  const kept: Learned = {
    notes: learned.notes.filter(keepsNote),
    facts: learned.facts.filter(keepsFact),
    commitments: learned.commitments.filter(keepsCommitment),
    aliases: learned.aliases.filter(keepsAlias),
    episode: learned.episode,
  }
  return { kept, dropped: countItems(learned) - countItems(kept) }
}

function countItems({ notes, facts, commitments, aliases }: Learned): number {
  return notes.length + facts.length + commitments.length + aliases.length
}

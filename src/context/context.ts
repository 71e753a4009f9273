import { join } from 'node:path'
import { toStorableText, truncateText } from '../base/text.ts'
import { readBundledText } from '../base/text-file.ts'
import type { SystemBlock } from '../models/model.ts'
import { FamiliarError } from '../protocol/error.ts'
import { type RecalledMemory, recalledLines, withoutContextTags } from './recalled-lines.ts'

export type { RecalledMemory }

const corePrompt = readBundledText(new URL('./prompts/core.md', import.meta.url))
const stableFiles = ['SOUL.md', 'AGENTS.md', 'USER.md', 'IDENTITY.md', 'TOOLS.md', 'HEARTBEAT.md']
/** What the user, or an agent for them, has written there is their own. */
const privateFiles = ['USER.md', 'MEMORY.md']
const maxFileCharacters = 40_000

/** The blocks for who is not the owner (SEC-22): what the owner wrote of themself is told to nobody else. */
export function withoutPrivateFiles(blocks: readonly SystemBlock[]): SystemBlock[] {
  return blocks.filter(({ name }) => !privateFiles.includes(name))
}

const sourceFraming: Record<string, string> = {
  system: 'This message is automated; your reply is stored and not delivered to anyone.',
  http: 'This message came over the HTTP interface; your reply goes back in its response.',
}

interface DynamicContext {
  now: number
  source: string
  /** What the user said: long memories are cut to what fits it. */
  text?: string
  recalled: readonly RecalledMemory[]
  pendingQuestion: string | null
  /** What else the system has to say: how the user answered, for one. */
  told?: readonly string[]
}

/** What a model is told besides the conversation. The same files always give the same bytes. */
export interface Context {
  /** Throws for a tier that the config does not name. */
  requireTier(tier: string): void
  /** The blocks of a tier, stable first. */
  system(tier: string): SystemBlock[]
  /** Whether they hold what the user wrote of themself. */
  holdsPrivate(tier: string): boolean
  /** What is true only now. It rides with the newest message and stays with it. */
  dynamic(facts: DynamicContext): { text: string; included: RecalledMemory[] }
}

export function createContext(dependencies: {
  workspace: string
  /** Which workspace files each tier takes, as the config has it now. */
  tiers: () => Record<string, readonly string[]>
  readTextFile: (path: string) => string | undefined
  timeZone: string
  /** What the workspace begins with, which is nobody's. */
  starterTexts?: readonly string[]
}): Context {
  const { workspace, tiers, readTextFile, timeZone, starterTexts = [] } = dependencies
  const formatNow = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'short', timeZone })

  function filesOf(tier: string): readonly string[] {
    const known = tiers()
    const names = known[tier]
    if (names) return names
    const list = Object.keys(known).join(', ')
    throw new FamiliarError('bad_request', `There is no context tier "${tier}"; known: ${list}`)
  }

  const read = (name: string) => readTextFile(join(workspace, name))?.trim()

  return {
    requireTier: (tier) => void filesOf(tier),
    system(tier) {
      const names = filesOf(tier)
      const blocks: SystemBlock[] = [{ name: 'core', tier: 'stable', text: corePrompt }]
      for (const isStable of [true, false]) {
        for (const name of names.filter((file) => stableFiles.includes(file) === isStable)) {
          const text = read(name)
          if (!text) continue
          const shown = truncateText(toStorableText(text), maxFileCharacters)
          blocks.push({
            name,
            tier: isStable ? 'stable' : 'semi_stable',
            text: `<file name="${name}">\n${shown}\n</file>`,
          })
        }
      }
      return blocks
    },
    holdsPrivate(tier) {
      return filesOf(tier).some((name) => {
        const text = privateFiles.includes(name) ? read(name) : undefined
        return !!text && !starterTexts.some((starter) => starter.trim() === text)
      })
    },
    dynamic(facts) {
      const lines = [`Now: ${formatNow.format(facts.now)} (${timeZone})`]
      const framing = sourceFraming[facts.source]
      if (framing) lines.push(framing)
      if (facts.pendingQuestion) {
        lines.push(`You had asked: ${withoutContextTags(facts.pendingQuestion)} This message is the answer.`)
      }
      lines.push(...(facts.told ?? []).map(withoutContextTags))
      const { lines: remembered, included } = recalledLines(facts.recalled, { about: facts.text ?? '', timeZone })
      lines.push(...remembered)
      return { text: `<context>\n${lines.join('\n')}\n</context>`, included }
    },
  }
}

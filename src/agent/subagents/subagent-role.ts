import { readBundledText } from '../../base/text-file.ts'
import type { ToolView } from '../../tools/registry.ts'
import type { Spawn } from '../../tools/subagents/subagents.ts'
import type { Role } from '../role.ts'
import { subagentToolView } from './subagent-tool-view.ts'

const prompt = readBundledText(new URL('./prompts/subagent.md', import.meta.url))

const common: Pick<Role, 'system' | 'purpose' | 'remembers' | 'cannotAsk' | 'news'> = {
  system: () => [{ name: 'subagent', tier: 'stable', text: prompt }],
  purpose: 'subagent',
  remembers: false,
  cannotAsk: true,
  news: async () => undefined,
}

/** Who answers in the session of a spawn that is at work. */
export function subagentRole(options: { spawn: Spawn; parentTools: ToolView; maxRounds: number }): Role {
  const { spawn, parentTools, maxRounds } = options
  const { tools, model, seen } = spawn.request
  return {
    ...common,
    tools: subagentToolView(parentTools, tools),
    holdsPrivate: () => seen.private,
    ...(seen.untrusted && { holdsUntrusted: true }),
    ...(model !== null && { model }),
    countsTo: spawn.parentTurnId,
    maxRounds,
  }
}

/** Where none is at work: it does nothing and asks no model, so that its turn ends. */
export const restingRole: Role = {
  ...common,
  tools: { find: () => undefined, list: () => [] },
  holdsPrivate: () => true,
  holdsUntrusted: true,
  maxRounds: 0,
}

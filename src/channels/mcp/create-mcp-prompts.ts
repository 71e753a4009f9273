import type { McpNeeds } from './mcp-needs.ts'
import type { McpSurface } from './mcp-surface.ts'

const longestRequest = 20_000

/** The skills that are on, as prompts. Their text is what the owner let into Familiar's own prompt. */
export function createMcpPrompts({ skills }: Pick<McpNeeds, 'skills'>): McpSurface['prompts'] {
  return {
    list: () =>
      (skills?.list() ?? [])
        .filter(({ status }) => status === 'on')
        .map(({ name, description }) => ({ name, description, arguments: [{ ...request }] })),
    get(name, given) {
      const skill = skills?.show(name)
      if (skill?.status !== 'on') return undefined
      const asked = given[request.name]?.slice(0, longestRequest).trim()
      const text = asked ? `${skill.instructions}\n\n---\n\n${asked}` : skill.instructions
      return { description: skill.description, messages: [{ role: 'user', content: { type: 'text', text } }] }
    },
  }
}

const request = { name: 'request', description: 'what it is to be used for', required: false }

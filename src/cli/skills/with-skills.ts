import * as api from '../../protocol/skill-api.ts'
import type { CommandContext } from '../command.ts'
import { withFamiliar } from '../connect.ts'

/** What can be asked of skills over HTTP, typed. */
interface SkillsClient {
  list(): Promise<api.SkillSummaryReply[]>
  show(name: string): Promise<api.SkillReply>
  enable(name: string, request: api.SkillEnableRequest): Promise<api.SkillReply>
  disable(name: string): Promise<api.SkillReply>
  reload(): Promise<api.SkillSummaryReply[]>
}

/** `withFamiliar` for what is asked of skills. */
export function withSkills<T>(context: CommandContext, work: (skills: SkillsClient) => Promise<T>): Promise<T> {
  const one = (name: string, rest = '') => `/skills/${encodeURIComponent(name)}${rest}`
  return withFamiliar(context, ({ transport: { ask } }) =>
    work({
      list: async () => (await ask('/skills', api.skillsReplySchema)).skills,
      show: (name) => ask(one(name), api.skillReplySchema),
      enable: (name, body) => ask(`/local${one(name, '/enable')}`, api.skillReplySchema, { body }),
      disable: (name) => ask(one(name, '/disable'), api.skillReplySchema, { body: {} }),
      reload: async () => (await ask('/skills/reload', api.skillsReplySchema, { body: {} })).skills,
    }),
  )
}

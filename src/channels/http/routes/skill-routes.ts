import { emptyRequestSchema } from '../../../protocol/api.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import {
  type SkillReply,
  type SkillSummaryReply,
  type SkillsReply,
  skillEnableRequestSchema,
  skillReplySchema,
  skillsReplySchema,
} from '../../../protocol/skill-api.ts'
import type { SkillDetails, SkillSummary } from '../../../tools/skills/skills.ts'
import type { HttpContext, HttpDependencies } from '../http-dependencies.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'

/** Skills: which there are, what each says, and the switch. To approve one is for the command line of this machine. */
export function createSkillRoutes(skills: NonNullable<HttpDependencies['skills']>): Route[] {
  const nameOf = (context: HttpContext) => context.req.param('name') ?? ''

  function shown(context: HttpContext): Response {
    const name = nameOf(context)
    const details = skills.show(name)
    if (!details) throw new FamiliarError('not_found', `There is no skill named ${name}.`)
    return jsonReply(skillReply(details))
  }

  // Their folders are the owner's, whoever else may use what they say.
  const owners = { auth: 'token', isOwners: true } as const
  const one = { ...owners, reply: { status: 200, schema: skillReplySchema } } as const
  const all = { ...owners, reply: { status: 200, schema: skillsReplySchema } } as const
  const list = () => jsonReply({ skills: skills.list().map(summaryReply) } satisfies SkillsReply)
  return [
    defineRoute({
      ...all,
      method: 'GET',
      path: '/api/v1/skills',
      summary: 'Every skill with its status; one that is broken too, with the reason.',
      scope: 'read',
      handle: list,
    }),
    defineRoute({
      ...all,
      method: 'POST',
      path: '/api/v1/skills/reload',
      summary: 'Look again at the folders of skills.',
      scope: 'owner',
      body: emptyRequestSchema,
      async handle() {
        await skills.reload()
        return list()
      },
    }),
    defineRoute({
      ...one,
      method: 'GET',
      path: '/api/v1/skills/:name',
      summary: 'One skill with its instructions and the files that it brings.',
      scope: 'read',
      handle: ({ context }) => shown(context),
    }),
    defineRoute({
      ...one,
      method: 'POST',
      path: '/api/v1/local/skills/:name/enable',
      summary: 'Switch a skill on: also the word for one from elsewhere, as it is now.',
      scope: 'owner',
      isLocal: true,
      body: skillEnableRequestSchema,
      async handle({ context, body }) {
        await skills.enable(nameOf(context), body.hash)
        return shown(context)
      },
    }),
    defineRoute({
      ...one,
      method: 'POST',
      path: '/api/v1/skills/:name/disable',
      summary: 'Switch a skill off.',
      scope: 'owner',
      body: emptyRequestSchema,
      async handle({ context }) {
        await skills.disable(nameOf(context))
        return shown(context)
      },
    }),
  ]
}

function summaryReply({ name, description, origin, status, problem, isAlways }: SkillSummary): SkillSummaryReply {
  return { name, description, origin, status, problem, is_always: isAlways }
}

function skillReply(details: SkillDetails): SkillReply {
  const { directory, license, compatibility, instructions, files, notes, hash } = details
  return {
    ...summaryReply(details),
    directory,
    license,
    compatibility,
    instructions,
    files: files.map(({ path, bytes }) => ({ path, bytes })),
    notes: [...notes],
    hash,
  }
}

import { z } from 'zod'
import { truncateText } from '../../../base/text.ts'
import type { Json } from '../../../protocol/json.ts'
import { defineTool, failed, succeeded } from '../../define-tool.ts'
import type { Tool, ToolOutcome } from '../../tool.ts'
import type { Build, Builds } from '../builds/builds.ts'
import { type Capability, toolNameOf } from '../capability.ts'
import type { CapabilityCatalog } from '../catalog/catalog.ts'
import type { CapabilitySearch } from '../catalog/search.ts'
import { whyNoName } from '../manifest/capability-name.ts'
import { whyNotCallable } from '../run-capability.ts'
import { describeCapability } from './describe-capability.ts'

const longestDescription = 4_000
const largestSchema = 16 * 1024

export function createRequestCapability(needs: {
  catalog: CapabilityCatalog
  search: CapabilitySearch
  builds: Pick<Builds, 'request' | 'list'>
  /** Why nothing can be built now: no language model, no sandbox. */
  whyNot(): Promise<string | undefined>
}): Tool {
  const { catalog, search, builds, whyNot } = needs
  return defineTool({
    name: 'request_capability',
    description: 'Have a tool built in the background that lookup_capability did not find.',
    input: z.object({
      name: z.string().describe('snake_case'),
      description: z.string().min(1),
      input_schema: z.looseObject({}).optional(),
      distinct: z.boolean().optional(),
    }),
    effect: 'idempotent',
    core: true,
    reach: ({ name }) => ({ kind: 'acts', destination: `build:${name}` }),
    async run(wanted, { userId, sessionId, callId, seen, signal }) {
      const description = truncateText(wanted.description, longestDescription)
      const name = wanted.name.replace(/^cap_/, '')
      const wrong = whyNoName(name)
      if (wrong !== undefined) return failed(`${wanted.name} cannot be its name: ${wrong}.`)
      const inputSchema = { type: 'object', ...wanted.input_schema } as { [key: string]: Json }
      if (JSON.stringify(inputSchema).length > largestSchema) return failed('input_schema is too large.')
      const known = catalog.find(userId, name)
      if (known && known.state !== 'failed') return await describeKnown(known)
      const same = wanted.distinct ? undefined : await search.findDuplicate({ userId, name, description, signal })
      if (same) return describeSame(same)
      const missing = await whyNot()
      if (missing !== undefined) return failed(`Nothing can be built now: ${missing}`)
      const request = { description, inputSchema, failure: null, seen }
      return describeBuild(await builds.request({ userId, name, kind: 'build', request, sessionId, callId }))
    },
  })

  async function describeKnown(known: Capability): Promise<ToolOutcome> {
    const [build] = await builds.list(known.userId, { name: known.name, state: 'running', limit: 1 })
    if (known.version === null && build) return describeBuild(build)
    const why = whyNotCallable(known)
    if (why !== undefined) return failed(why)
    const tool = toolNameOf(known.name)
    const text = `There is one of that name already: call ${tool}.\n${describeCapability(known)}`
    return { ...succeeded(text), foundTools: [tool] }
  }
}

function describeSame(same: Capability): ToolOutcome {
  const again = 'Where it will not do, ask again with "distinct": true.'
  const why = whyNotCallable(same)
  const text = [`There is one that does much the same.${why === undefined ? '' : ` ${why}`} ${again}`]
  return {
    ...succeeded([...text, describeCapability(same)].join('\n')),
    ...(why === undefined && { foundTools: [toolNameOf(same.name)] }),
  }
}

function describeBuild({ id, name }: Build): ToolOutcome {
  const tool = toolNameOf(name)
  const note = `It takes minutes. Go on without it; ${tool} can be called as soon as it is ready, and you are told.`
  const state = JSON.stringify({ name, state: 'building', build_id: id })
  return { ...succeeded(`${state}\n${note}`), foundTools: [tool] }
}

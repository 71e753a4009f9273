import { z } from 'zod'
import { truncateText } from '../base/text.ts'
import type { Json } from '../protocol/messages.ts'
import { defineTool, failed, succeeded, type Tool, type ToolOutcome } from '../tools/tool.ts'
import type { Build } from './builder/builds.ts'
import type { Builds } from './builder/create-builds.ts'
import { type Capability, type CapabilityCatalog, serves, toolNameOf } from './built-catalog.ts'
import type { AfterFailure, CapabilityRepairs } from './capabilities.ts'
import { type CapabilityRuns, runForModel, whyNotCallable } from './custom-tool.ts'
import { whyNoName } from './manifest.ts'
import type { CapabilitySearch } from './search.ts'
import { readTextFile } from './tool-folder.ts'

interface Needs {
  catalog: CapabilityCatalog
  search: CapabilitySearch
  builds: Pick<Builds, 'request' | 'list'>
  runs: CapabilityRuns
  repairs: CapabilityRepairs
  afterFailure: AfterFailure
  /** Why nothing can be built now: no language model, no sandbox. */
  whyNot(): Promise<string | undefined>
}

const maxFound = 3
const maxTextLength = 6_000
const maxDescriptionLength = 4_000
const largestSchema = 16 * 1024

/** The tools for capabilities in a conversation (CAP-1). The core ones cost tokens in every request. */
export function createCapabilityTools(needs: Needs): Tool[] {
  const { catalog, search, builds, runs, repairs, afterFailure, whyNot } = needs

  async function describeKnown(known: Capability): Promise<ToolOutcome> {
    const [build] = await builds.list(known.userId, { name: known.name, state: 'running', limit: 1 })
    if (known.version === null && build) return describeBuild(build)
    const why = whyNotCallable(known)
    if (why !== undefined) return failed(why)
    const tool = toolNameOf(known.name)
    const text = `There is one of that name already: call ${tool}.\n${describeCapability(known)}`
    return { ...succeeded(text), foundTools: [tool] }
  }

  return [
    defineTool({
      name: 'lookup_capability',
      description: 'Find tools that you have built, by name or by what they do.',
      input: z.object({ query: z.string().min(1) }),
      effect: 'idempotent',
      core: true,
      async run({ query }, { userId, signal }) {
        const named = catalog.find(userId, plainName(query.trim()))
        const found = named
          ? [named]
          : (await search.search({ userId, text: query, limit: maxFound, signal })).map(({ capability }) => capability)
        if (found.length === 0) return succeeded('There is none. request_capability has one built.')
        const foundTools = found.filter(serves).map(({ name }) => toolNameOf(name))
        return { ...succeeded(found.map(describeCapability).join('\n')), foundTools }
      },
    }),
    defineTool({
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
      reach: ({ name }) => ({ kind: 'later', destination: `build:${name}` }),
      async run(wanted, { userId, sessionId, callId, seen, signal }) {
        const description = truncateText(wanted.description, maxDescriptionLength)
        const name = plainName(wanted.name)
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
    }),
    // For models that call by a name in the arguments; the tool of the capability itself knows better where it goes.
    defineTool({
      name: 'execute_capability',
      description: 'Run a tool that you have built. The same as calling cap_<name>.',
      input: z.object({ name: z.string(), input: z.looseObject({}) }),
      effect: 'at-most-once',
      // Whether it reaches out depends on whose it is, which the arguments do not tell.
      reach: ({ name }) => ({ kind: 'reach', destination: `tool:${toolNameOf(plainName(name))}` }),
      async run({ name, input }, context) {
        const capability = catalog.find(context.userId, plainName(name))
        if (!capability) return failed(`There is no capability named ${name}.`)
        return await runForModel(capability, { input: input as Json, context, runs, afterFailure })
      },
    }),
    defineTool({
      name: 'read_run_md',
      description: 'Read how a tool that you have built is used: its RUN.md.',
      input: z.object({ name: z.string() }),
      effect: 'idempotent',
      async run({ name }, { userId }) {
        const capability = catalog.find(userId, plainName(name))
        const version = capability && (await catalog.version(userId, capability.name))
        if (!version) return failed(`There is no capability named ${name} that serves.`)
        const reading = await catalog.read(version)
        if (!reading.ok) return failed(reading.problem)
        const text = readTextFile(reading.files, 'RUN.md')
        if (text === undefined) return failed(`${capability.name} has no RUN.md.`)
        const label = capability.origin === 'imported' ? 'untrusted' : 'internal'
        return { ...succeeded(truncateText(text, maxTextLength)), label }
      },
    }),
    defineTool({
      name: 'repair_capability',
      description: 'Repair a tool that you have built, in the background; the current version stays callable.',
      input: z.object({
        name: z.string(),
        problem: z.string().optional().describe('what is wrong, if no call failed'),
      }),
      effect: 'idempotent',
      reach: ({ name }) => ({ kind: 'later', destination: `build:${name}` }),
      async run({ name, problem }, { userId, sessionId, callId, seen }) {
        const missing = await whyNot()
        if (missing !== undefined) return failed(`Nothing can be repaired now: ${missing}`)
        const plain = plainName(name)
        const build = await repairs.request({ userId, name: plain, problem, sessionId, callId, seen })
        const state = JSON.stringify({ name: plain, state: 'building', build_id: build.id })
        return succeeded(`${state}\nYou are told when it has passed.`)
      },
    }),
  ]
}

function plainName(name: string): string {
  return name.replace(/^cap_/, '')
}

function describeCapability(capability: Capability): string {
  const { name, description, state, version, problem, permissions } = capability
  const { hosts, secrets, storage } = permissions
  return JSON.stringify({
    name,
    description,
    state: state === 'building' && version !== null ? 'active, a new version is being built' : state,
    ...(problem !== null && { problem }),
    input: capability.inputSchema,
    ...(hosts.length > 0 && { hosts }),
    ...(secrets.length > 0 && { secrets: secrets.map((secret) => secret.name) }),
    ...(storage && { storage }),
  })
}

function describeSame(same: Capability): ToolOutcome {
  const again = 'If it does not fit, ask again with "distinct": true.'
  const why = whyNotCallable(same)
  const text = [`There is one that does much the same.${why === undefined ? '' : ` ${why}`} ${again}`]
  return {
    ...succeeded([...text, describeCapability(same)].join('\n')),
    ...(why === undefined && { foundTools: [toolNameOf(same.name)] }),
  }
}

function describeBuild({ id, name }: Build): ToolOutcome {
  const tool = toolNameOf(name)
  const note = `It takes minutes. Continue without it; a note tells you when ${tool} can be called.`
  const state = JSON.stringify({ name, state: 'building', build_id: id })
  return { ...succeeded(`${state}\n${note}`), foundTools: [tool], buildId: id }
}

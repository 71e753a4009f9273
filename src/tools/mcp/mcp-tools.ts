import type { CallToolResult, GetPromptResult, ReadResourceResult } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { canonicalJson, isRecord } from '../../base/json.ts'
import { truncateText } from '../../base/text.ts'
import type { AskModel } from '../../memory/learning/ask-model.ts'
import type { Json } from '../../protocol/messages.ts'
import type { Reach } from '../../security/permissions.ts'
import type { Database } from '../../storage/database.ts'
import type { MediaStore } from '../../storage/media-store.ts'
import type { ToolRegistry } from '../registry.ts'
import { defineTool, readArguments, type Tool, type ToolContext, type ToolOutcome } from '../tool.ts'
import { type CallHosts, createCallHosts, readServerResult, UserAsked } from './call-host.ts'
import type { ConnectNeeds, McpConnection } from './connect-server.ts'
import { createServerLink, type LinkLimits, McpFailure, type ServerLink } from './server-link.ts'
import { isProgram, type McpOffers, type McpServerSettings } from './server-program.ts'
import {
  createMcpApprovals,
  describeChanges,
  type ListedTool,
  type McpApproval,
  nameTools,
  serverFingerprint,
  slugOf,
  type ToolListing,
} from './tool-listing.ts'

/**
 * Registers the tools of approved servers. Without the owner's approval of its fingerprint a server is not even
 * started; one that has changed is switched off completely at once. A server starts with its first call.
 */
export type McpTools = ReturnType<typeof createMcpTools>

/** `changed`: it differs from what was approved, and is off until it is approved again. */
type ServerState = 'new' | 'approved' | 'changed' | 'disabled'

const usualLimits: LinkLimits = { connectMs: 60_000, callMs: 60_000 }

interface KnownServer {
  settings: McpServerSettings
  approval: McpApproval
  state: ServerState
  tools: { name: string; description: string; problem: string | null }[]
  link: ServerLink
  hosts: CallHosts
}

export function createMcpTools(
  needs: ConnectNeeds & {
    servers: () => Readonly<Record<string, McpServerSettings>>
    database: Database
    registry: Pick<ToolRegistry, 'replace'>
    putMedia: MediaStore['put']
    /** The fast model, for servers that may use it. Without it, none may. */
    askModel?: AskModel
    limits?: LinkLimits
  },
) {
  const { registry, logger, putMedia, limits = usualLimits } = needs
  const approvals = createMcpApprovals(needs)
  const known = new Map<string, KnownServer>()
  let refreshing = Promise.resolve()

  async function readAll(): Promise<void> {
    const configured = needs.servers()
    for (const name of [...known.keys()].filter((name) => !(name in configured))) {
      registry.replace(sourceOf(name), [])
      await known.get(name)?.link.close()
      known.delete(name)
    }
    for (const [name, settings] of Object.entries(configured).sort(([a], [b]) => (a < b ? -1 : 1))) {
      await readOne(name, settings)
    }
  }

  async function readOne(name: string, settings: McpServerSettings): Promise<void> {
    const approval = await approvals.read(name)
    const before = known.get(name)
    const isSame = before !== undefined && canonicalJson(before.settings) === canonicalJson(settings)
    if (before && !isSame) await before.link.close()
    const state = stateOf(settings, approval)
    const askModel = settings.sampling === true ? needs.askModel : undefined
    const hosts = isSame ? before.hosts : createCallHosts({ ...needs, server: name, askModel })
    const entry = { settings, approval, state, link: isSame ? before.link : linkTo(name, settings), hosts, tools: [] }
    known.set(name, entry)
    // A server that is off must not keep running.
    if (state !== 'approved' && entry.link.isConnected()) {
      await entry.link.close()
      entry.link = linkTo(name, settings)
    }
    register(name)
  }

  function linkTo(server: string, settings: McpServerSettings): ServerLink {
    return createServerLink({
      ...needs,
      server,
      settings,
      limits,
      onListed: (listing, offers) => compare(server, listing, offers),
      async onLogin(isNeeded, loginScope) {
        const entry = known.get(server)
        if (!entry) return
        const { needsLogin: wasNeeded, loginScope: before } = entry.approval
        if (wasNeeded === isNeeded && before === loginScope) return
        entry.approval = { ...entry.approval, needsLogin: isNeeded, loginScope }
        if (isNeeded) logger.warn('an MCP server needs login', { server, command: `familiar mcp login ${server}` })
        await approvals.note(server, { needsLogin: isNeeded, loginScope })
      },
    })
  }

  function register(server: string): void {
    const entry = known.get(server)
    if (!entry) return
    const { settings, approval, state, hosts } = entry
    const named = nameTools(server, approval.tools)
    const outcomeOf = async (result: CallToolResult, ifEmpty: string, notes: readonly string[] = []) => {
      const { text, media } = await readServerResult(result, { server, putMedia })
      // A local program can read the user's files, and a server with a key or a login knows an account.
      const isPrivate =
        isProgram(settings) ||
        Object.keys(settings.headers).length > 0 ||
        (await needs.logins.read(server, settings.url)) !== undefined
      return {
        text: [text || ifEmpty, ...notes.map((note) => `[Familiar: ${note}]`)].join('\n'),
        isError: result.isError === true,
        label: 'untrusted' as const,
        ...(isPrivate && { isPrivate: true as const }),
        ...(media.length > 0 && { media }),
      }
    }
    const request: ServerLink['request'] = (signal, send) => requestApproved(server, signal, send)
    const tools = named
      .filter(({ problem }) => problem === null && state === 'approved')
      .map(({ tool, name }) => createMcpTool({ server, settings, hosts, tool, name, request, outcomeOf }))
    // A server's own tool of that name takes precedence.
    const others = createOfferTools({ server, offers: approval.offers, request, outcomeOf }).filter(
      ({ definition }) => state === 'approved' && !named.some(({ name }) => name === definition.name),
    )
    const taken = registry.replace(sourceOf(server), [...tools, ...others])
    entry.tools = named.map(({ tool, name, problem }) => ({
      name,
      description: tool.description ?? '',
      problem: problem ?? (taken.includes(name) ? `Another tool is already named ${name}.` : null),
    }))
    for (const { name, problem } of entry.tools) {
      if (problem !== null) logger.warn('skipped a tool of an MCP server', { server, tool: name, problem })
    }
  }

  /** The approval is read before every call, so that withdrawing it takes effect immediately. */
  async function requestApproved<T>(
    server: string,
    signal: AbortSignal,
    send: (connection: McpConnection, signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const entry = known.get(server)
    const approval = await approvals.read(server)
    const isSame = approval.fingerprint === entry?.approval.fingerprint
    if (entry && isSame && stateOf(entry.settings, approval) === 'approved')
      return await entry.link.request(signal, send)
    await refresh()
    throw new McpFailure('refused', `The MCP server ${server} is no longer approved. See: familiar mcp show ${server}`)
  }

  async function compare(server: string, listing: ToolListing, offers: McpOffers): Promise<boolean> {
    const entry = known.get(server)
    if (!entry) return false
    const { settings, approval } = entry
    if (listing.ok && serverFingerprint(settings, listing.tools) === approval.fingerprint) {
      if (canonicalJson(offers) !== canonicalJson(approval.offers)) {
        entry.approval = { ...approval, offers }
        register(server)
        await approvals.note(server, { offers })
      }
      return true
    }
    const changes = listing.ok ? describeChanges(approval.tools, listing.tools) : [listing.problem]
    logger.warn('an MCP server has changed and is off until it is approved again', { server, changes })
    entry.state = 'changed'
    entry.approval = { ...approval, isEnabled: false, changes }
    register(server)
    await approvals.disable(server, changes)
    return false
  }

  function refresh(): Promise<void> {
    refreshing = refreshing.then(readAll, readAll)
    return refreshing
  }

  return {
    /** Reads the configuration and approvals again: at startup, after a reload, after `familiar mcp approve`. */
    refresh,
    servers: () =>
      [...known].map(([name, { settings, state, link, tools, approval }]) => ({
        name,
        /** The program with its arguments, or the address. */
        target: isProgram(settings) ? [settings.command, ...settings.args].join(' ') : settings.url,
        state,
        isConnected: link.isConnected(),
        needsLogin: approval.needsLogin,
        tools,
        changes: approval.changes,
      })),
    async close(): Promise<void> {
      await refreshing.catch(() => undefined)
      await Promise.all([...known.values()].map(({ link }) => link.close()))
    },
  }
}

function stateOf(settings: McpServerSettings, approval: McpApproval): ServerState {
  if (approval.fingerprint === null) return 'new'
  // The program or address may differ from the approved one.
  const isAsApproved = serverFingerprint(settings, approval.tools) === approval.fingerprint
  if (!isAsApproved || approval.changes.length > 0) return 'changed'
  return approval.isEnabled ? 'approved' : 'disabled'
}

function sourceOf(server: string): string {
  return `mcp:${server}`
}

const maxArgumentCharacters = 256 * 1024

type JsonObject = { [key: string]: Json }

/** A server's result, for the model. It is untrusted. */
type OutcomeOf = (result: CallToolResult, ifEmpty: string, notes?: readonly string[]) => Promise<ToolOutcome>

function createMcpTool(options: {
  server: string
  settings: McpServerSettings
  tool: ListedTool
  name: string
  request: ServerLink['request']
  outcomeOf: OutcomeOf
  hosts: CallHosts
}): Tool {
  const { server, settings, tool, name } = options
  const reach = reachOf(server, settings, tool)
  // The schema's source is irrelevant for the model and providers.
  const { $schema: _, ...schema } = tool.inputSchema

  async function run(given: JsonObject, context: ToolContext): Promise<ToolOutcome> {
    const host = options.hosts.hostFor({ tool: tool.name, arguments: given, context })
    const result = await options.request(context.signal, (connection, signal) =>
      connection.callTool({
        host,
        name: tool.name,
        arguments: given,
        signal,
        onProgress: ({ progress: done, total, message }) =>
          context.progress({ done, total: total ?? null, message: message?.slice(0, 500) ?? null }),
      }),
    )
    const ifEmpty = result.isError ? 'It failed without an error message.' : 'Done.'
    return await options.outcomeOf(result, ifEmpty, host.notes())
  }

  return {
    definition: {
      name,
      description: tool.description?.trim() || tool.title || tool.annotations?.title || tool.name,
      inputSchema: { type: 'object', ...schema },
    },
    effect: isProgram(settings) && tool.annotations?.readOnlyHint === true ? 'idempotent' : 'at-most-once',
    serial: false,
    core: false,
    aliases: [],
    reach: () => reach,
    hears(heard) {
      const given = readObject(heard.input)
      if (given) options.hosts.hears({ tool: tool.name, arguments: given, heard })
    },
    async run(input, context) {
      const given = readObject(input)
      if (!given) return failed(`The arguments of ${name} must be a JSON object.`)
      const size = JSON.stringify(given).length
      if (size > maxArgumentCharacters) {
        return failed(`The arguments have ${size} characters; the limit is ${maxArgumentCharacters}.`)
      }
      try {
        return await run(given, context)
      } catch (cause) {
        if (!(cause instanceof UserAsked)) return failureOutcome(cause)
        const text = `The server needs an answer from the user first, who has just been asked. After they have answered, call ${name} again with the same arguments: the server then gets their answer.`
        // The question contains text of the server, so the session has seen it.
        return { text, isError: false, label: 'untrusted', question: cause.question }
      }
    },
  }
}

/**
 * A tool is open-world unless it says otherwise: then its arguments may leave the machine, even if it changes nothing
 * (a search, a fetch). Everything sent to a server at an address leaves it.
 */
function reachOf(server: string, settings: McpServerSettings, { annotations }: ListedTool): Reach {
  const isLocal = isProgram(settings) && annotations?.openWorldHint === false
  if (!isLocal) return approvedReach(server)
  return { kind: annotations?.readOnlyHint === true ? 'read' : 'change', destination: `mcp:${server}` }
}

/** Only the tools of an approved server exist: the approval is the owner's standing grant for their calls. */
function approvedReach(server: string): Reach {
  return { kind: 'reach', destination: `mcp:${server}`, isApproved: true }
}

/** The result for the model of a failed request. Rethrows errors that are not the server's. */
function failureOutcome(cause: unknown): ToolOutcome {
  if (!(cause instanceof McpFailure)) throw cause
  return {
    ...failed(cause.message),
    ...(cause.kind === 'timed_out' && { timedOut: true }),
    ...(cause.kind === 'unavailable' && { serviceFailed: true }),
  }
}

function readObject(input: Json): JsonObject | undefined {
  const given = readArguments(input)
  const value = given.ok ? (given.value ?? {}) : undefined
  return isRecord(value) ? value : undefined
}

function failed(text: string): ToolOutcome {
  return { text, isError: true, label: 'untrusted' }
}

const maxListed = 100
const maxLineCharacters = 300

/**
 * Tools for the resources and prompts of one server, found with `find_tools`. Their names and descriptions are ours, so
 * they are not part of the fingerprint; their results are untrusted, like those of any tool of the server.
 */
function createOfferTools(options: {
  server: string
  offers: McpOffers
  request: ServerLink['request']
  outcomeOf: OutcomeOf
}): Tool[] {
  const { server, offers } = options
  const nameOf = (what: string) => `mcp_${slugOf(server)}_${what}`
  const read: Reach = { kind: 'read', destination: `mcp:${server}` }

  async function answer(
    { signal }: ToolContext,
    send: (connection: McpConnection, signal: AbortSignal) => Promise<CallToolResult>,
  ): Promise<ToolOutcome> {
    try {
      return await options.outcomeOf(await options.request(signal, send), 'It is empty.')
    } catch (cause) {
      return failureOutcome(cause)
    }
  }

  const listResources = defineTool({
    name: nameOf('list_resources'),
    description: `List the resources (documents and data) of the MCP server ${server}. query keeps those that contain the words.`,
    input: z.object({ query: z.string().max(200).optional() }),
    effect: 'idempotent',
    // The query stays here: the server gets the same request every time.
    reach: () => read,
    run: ({ query }, context) =>
      answer(context, async (connection, signal) => {
        const { resources, templates } = await connection.listResources(signal)
        const lines = [
          ...resources.map(({ uri, name, title, description }) => lineOf(uri, title ?? name, description)),
          ...templates.map(({ uriTemplate, name, title, description }) =>
            lineOf(uriTemplate, `${title ?? name} (fill in the parts in braces)`, description),
          ),
        ]
        return textResult(listed(lines, query))
      }),
  })

  const readResource = defineTool({
    name: nameOf('read_resource'),
    description: `Read one resource of the MCP server ${server} by its uri.`,
    input: z.object({ uri: z.string().min(1).max(2_000) }),
    effect: 'idempotent',
    reach: () => approvedReach(server),
    run: ({ uri }, context) =>
      answer(context, async (connection, signal) => resourceResult(await connection.readResource(uri, signal))),
  })

  const usePrompt = defineTool({
    name: nameOf('use_prompt'),
    description: `Prompts (ready-made instructions) of the MCP server ${server}, for when the user asks for one: without a name, list them; with one, get its text. suggest names an argument whose possible values to list instead.`,
    input: z.object({
      name: z.string().min(1).max(200).optional(),
      arguments: z.record(z.string(), z.string().max(20_000)).optional(),
      suggest: z.string().min(1).max(200).optional(),
    }),
    effect: 'idempotent',
    reach: ({ name }) => (name === undefined ? read : approvedReach(server)),
    run: ({ name, arguments: given = {}, suggest }, context) =>
      answer(context, async (connection, signal) => {
        if (name !== undefined && suggest !== undefined) {
          const { [suggest]: typed = '', ...others } = given
          const values = await connection.suggest({ prompt: name, argument: suggest, typed, others }, signal)
          return textResult(listed(values.map((value) => lineOf(value, ''))))
        }
        if (name !== undefined) return promptResult(await connection.getPrompt({ name, arguments: given }, signal))
        const prompts = await connection.listPrompts(signal)
        const lines = prompts.map((prompt) => {
          const wanted = prompt.arguments?.map((each) => `${each.name}${each.required ? '' : '?'}`).join(', ')
          return lineOf(`${prompt.name}(${wanted ?? ''})`, prompt.title ?? '', prompt.description)
        })
        return textResult(listed(lines))
      }),
  })

  return [...(offers.resources ? [listResources, readResource] : []), ...(offers.prompts ? [usePrompt] : [])]
}

function lineOf(key: string, title: string, description = ''): string {
  const words = [title, description].filter((text) => text !== '' && text !== key).join(': ')
  return truncateText(`- ${key}${words === '' ? '' : ` ${words}`}`.replaceAll(/\s+/g, ' '), maxLineCharacters)
}

function listed(lines: readonly string[], query = ''): string {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const fitting = lines.filter((line) => words.every((word) => line.toLowerCase().includes(word)))
  if (fitting.length === 0)
    return lines.length === 0 ? 'There are none.' : `None of the ${lines.length} matches the query.`
  const rest = fitting.length > maxListed ? [`… and ${fitting.length - maxListed} more: use a query.`] : []
  return [...fitting.slice(0, maxListed), ...rest].join('\n')
}

function textResult(text: string): CallToolResult {
  return { content: [{ type: 'text', text }] }
}

function resourceResult({ contents }: ReadResourceResult): CallToolResult {
  return {
    content: contents.map((resource) =>
      'blob' in resource && resource.mimeType?.startsWith('image/')
        ? { type: 'image', data: resource.blob, mimeType: resource.mimeType }
        : { type: 'resource', resource },
    ),
  }
}

/** Each message under its role, as data for the model to follow if the user asked for it. */
function promptResult({ messages }: GetPromptResult): CallToolResult {
  return { content: messages.flatMap(({ role, content }) => [{ type: 'text', text: `[${role}]` }, content]) }
}

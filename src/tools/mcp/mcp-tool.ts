import { parseAnyJson } from '../../base/json.ts'
import type { Json } from '../../protocol/json.ts'
import type { MediaStore } from '../../sessions/media-store.ts'
import type { Tool, ToolContext, ToolOutcome, ToolReach } from '../tool.ts'
import { readResult } from './read-result.ts'
import { McpFailure, type ServerLink } from './server-link.ts'
import { isProgram, type McpServerSettings } from './server-settings.ts'
import type { ListedTool } from './tool-listing.ts'

const mostArgumentCharacters = 256 * 1024

type JsonObject = { [key: string]: Json }

/** One tool of a server, as the model has it. Whatever comes back is anybody's words. */
export function createMcpTool(options: {
  server: string
  settings: McpServerSettings
  tool: ListedTool
  name: string
  call: ServerLink['call']
  putMedia: MediaStore['put']
}): Tool {
  const { server, settings, tool, name } = options
  const reach = reachOf(server, settings, tool)
  const isPrivate = seesPrivateData(settings)

  async function run(given: JsonObject, { signal, progress }: ToolContext): Promise<ToolOutcome> {
    const result = await options.call({
      name: tool.name,
      arguments: given,
      signal,
      onProgress: ({ progress: done, total, message }) =>
        progress({ done, total: total ?? null, message: message?.slice(0, 500) ?? null }),
    })
    const { text, media } = await readResult(result, { server, putMedia: options.putMedia })
    return {
      text: text || (result.isError ? 'It failed and did not say why.' : 'Done.'),
      isError: result.isError === true,
      label: 'untrusted',
      ...(isPrivate && { isPrivate }),
      ...(media.length > 0 && { media }),
    }
  }

  return {
    definition: {
      name,
      description: tool.description?.trim() || tool.title || tool.annotations?.title || tool.name,
      inputSchema: schemaOf(tool),
    },
    effect: reach.kind === 'reads' ? 'idempotent' : 'at-most-once',
    serial: false,
    core: false,
    aliases: [],
    reach: () => reach,
    async run(input, context) {
      const given = readArguments(input)
      if (!given) return failed(`The arguments of ${name} must be a JSON object.`)
      const size = JSON.stringify(given).length
      if (size > mostArgumentCharacters) {
        return failed(`The arguments have ${size} characters; at most ${mostArgumentCharacters} are sent.`)
      }
      try {
        return await run(given, context)
      } catch (cause) {
        if (!(cause instanceof McpFailure)) throw cause
        return {
          ...failed(cause.message),
          ...(cause.kind === 'timed_out' && { timedOut: true }),
          ...(cause.kind === 'unavailable' && { serviceFailed: true }),
        }
      }
    },
  }
}

/**
 * What a server says of itself is believed where the owner has approved it, and only that it reads: whatever is sent to
 * another machine has left this one.
 */
function reachOf(server: string, settings: McpServerSettings, { annotations }: ListedTool): ToolReach {
  const onlyReads = isProgram(settings) && annotations?.readOnlyHint === true
  return { kind: onlyReads ? 'reads' : 'acts', destination: `mcp:${server}` }
}

/** A program here can read what the user can, and a server with a key knows an account. */
function seesPrivateData(settings: McpServerSettings): true | undefined {
  return isProgram(settings) || Object.keys(settings.headers).length > 0 ? true : undefined
}

/** Where it came from is not for the model, and tells providers nothing. */
function schemaOf({ inputSchema }: ListedTool): JsonObject {
  const { $schema: _, ...schema } = inputSchema
  return { type: 'object', ...schema }
}

function readArguments(input: Json): JsonObject | undefined {
  const value = typeof input === 'string' && input.trim() !== '' ? decoded(input) : input
  if (value === null || value === '') return {}
  return typeof value === 'object' && !Array.isArray(value) ? value : undefined
}

function decoded(text: string): Json {
  const parsed = parseAnyJson(text)
  return parsed.ok ? parsed.value : text
}

function failed(text: string): ToolOutcome {
  return { text, isError: true, label: 'untrusted' }
}

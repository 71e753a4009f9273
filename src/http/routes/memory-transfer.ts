import { spoolFile } from '../../base/files.ts'
import type { Logger } from '../../base/logger.ts'
import type { ImportOutcome } from '../../memory/transfer/import-memories.ts'
import { splitLines } from '../../memory/transfer/plain-notes.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import * as api from '../../protocol/memory.ts'
import { type Operation, toWire } from '../../protocol/operation.ts'
import type { SentEvent, StreamReply } from '../chat-replies.ts'
import type { HttpContext, HttpDependencies } from '../dependencies.ts'
import { callerOf, hasBody, limitedBody } from '../guards.ts'
import { commonHeaders, jsonReply, wantsEvents } from '../replies.ts'
import { handle, type Route } from '../route.ts'

const defaultMaxBytes = 1_000_000_000

/** Export and import. */
export function createTransferRoutes(dependencies: HttpDependencies, streamReply: StreamReply): Route[] {
  const { exportMemories, importMemories, spoolDirectory, settings, logger } = dependencies
  const maxBytes = settings.maxImportBytes ?? defaultMaxBytes
  return [
    handle(api.memories.export, ({ userId, query }) => {
      const format = query.format === 'jsonl' ? 'json' : 'markdown'
      const lines = exportMemories({ userId, format })
      const name = `familiar-memories.${format === 'json' ? 'jsonl' : 'md'}`
      return lineReply({ lines, mediaType: api.memoryMediaTypes[query.format], name, logger })
    }),
    handle(
      api.memories.importLines,
      async ({ userId, query, context }) => {
        if (!hasBody(context)) throw new FamiliarError('bad_request', 'body: needs the lines to import')
        // All of it has to arrive within a minute, and storing it may take longer.
        const file = await spoolFile(spoolDirectory, limitedBody(context, maxBytes))
        const work: Work<object, object> = async (job) => {
          try {
            const { label, addFolders } = query
            const lines = splitLines(file.read())
            return importReply(
              await importMemories({ ...job, userId, lines, label, addFolders: addFolders === 'true' }),
            )
          } finally {
            await file.close()
          }
        }
        try {
          return await progressReply(context, streamReply, work, api.memories.importLines)
        } catch (cause) {
          await file.close()
          throw cause
        }
      },
      { maxBytes },
    ),
  ]
}

function importReply(outcome: ImportOutcome) {
  if (!outcome.ok) {
    const where = outcome.reason === 'not_notes' ? '' : 'body: '
    throw new FamiliarError('bad_request', `${where}${outcome.message}`)
  }
  const { format } = outcome.report
  return { ...outcome.report, format: format === 'json' ? 'jsonl' : format }
}

/** Long work. It stops when the caller has disconnected. */
type Work<Progress, Result> = (job: { signal: AbortSignal; onProgress(progress: Progress): void }) => Promise<Result>

/** A slow reader gets only the newest progress. */
const maxWaiting = 100

/**
 * Replies with the result as JSON or, if the caller accepts events, with `progress` events and one `result` event. The
 * operation has the schemas of both.
 */
export async function progressReply<Progress extends object, Result extends object>(
  context: HttpContext,
  streamReply: StreamReply,
  work: Work<Progress, Result>,
  { progress, reply }: Pick<Operation, 'progress' | 'reply'> = {},
): Promise<Response> {
  const written: Work<object, object> = async ({ signal, onProgress }) => {
    const result = await work({
      signal,
      onProgress: (value) => onProgress((progress ? toWire(progress, value) : value) as object),
    })
    return (reply ? toWire(reply, result) : result) as object
  }
  if (wantsEvents(context)) {
    return streamReply(callerOf(context).userId, async (signal) => ({ events: progressEvents(signal, written) }))
  }
  return jsonReply(await written({ signal: context.req.raw.signal, onProgress: () => {} }))
}

/** The work has started when this returns, and ends even if the events are not read. */
function progressEvents(signal: AbortSignal, work: Work<object, object>): AsyncGenerator<SentEvent> {
  const waiting: SentEvent[] = []
  let news = Promise.withResolvers<void>()
  let outcome: { result: object } | { cause: unknown } | undefined
  const onProgress = (progress: object) => {
    waiting.push({ name: 'progress', data: progress })
    if (waiting.length > maxWaiting) waiting.shift()
    news.resolve()
  }
  const end = (how: typeof outcome) => {
    outcome = how
    news.resolve()
  }
  work({ signal, onProgress }).then(
    (result) => end({ result }),
    (cause: unknown) => end({ cause }),
  )
  return events()

  async function* events(): AsyncGenerator<SentEvent> {
    while (!outcome || waiting.length > 0) {
      const event = waiting.shift()
      if (event) yield event
      else {
        await news.promise
        news = Promise.withResolvers()
      }
    }
    if ('cause' in outcome) throw outcome.cause
    yield { name: 'result', data: outcome.result }
  }
}

/** The files and folders whose passages are memories. */
export function createFileRoutes(
  { memory: { files }, followFiles }: HttpDependencies,
  streamReply: StreamReply,
): Route[] {
  return [
    handle(api.roots.list, async ({ userId }) => ({
      roots: await files.roots(userId),
      lastSync: files.lastReport(userId) ?? null,
    })),
    handle(api.roots.add, async ({ userId, body }) => {
      const added = await files.addRoot(userId, body.path)
      if (added.ok) return added
      if (added.reason === 'forbidden') throw new FamiliarError('forbidden', added.message)
      throw new FamiliarError('bad_request', `path: ${added.message}`)
    }),
    handle(api.roots.remove, async ({ userId, query }) => {
      if (!(await files.removeRoot(userId, query.path))) {
        throw new FamiliarError('not_found', `${query.path} is not indexed, or belongs to the workspace`)
      }
      followFiles(userId)
      return { removed: true as const }
    }),
    handle(api.roots.sync, ({ userId, context }) => {
      const sync: Work<object, object> = async (job) => {
        const report = await files.sync(userId, job)
        if (report.isFinished) followFiles(userId)
        return report
      }
      return progressReply(context, streamReply, sync, api.roots.sync)
    }),
  ]
}

/** A file of lines, produced no faster than the client reads. An error breaks the reply off. */
function lineReply(options: {
  lines: AsyncGenerator<string>
  mediaType: string
  name: string
  logger: Logger
}): Response {
  async function* blocks(): AsyncGenerator<Uint8Array> {
    let block = ''
    try {
      for await (const line of options.lines) {
        block += `${line}\n`
        if (block.length < blockLength) continue
        yield Buffer.from(block)
        block = ''
      }
    } catch (cause) {
      options.logger.error('a reply was interrupted', { file: options.name, error: cause })
      throw cause
    }
    if (block !== '') yield Buffer.from(block)
  }
  return new Response(ReadableStream.from(blocks()), {
    headers: {
      ...commonHeaders,
      'content-type': `${options.mediaType}; charset=utf-8`,
      'content-disposition': `attachment; filename="${options.name}"`,
    },
  })
}

/** A write to the socket for every line would take most of the time. */
const blockLength = 65_536

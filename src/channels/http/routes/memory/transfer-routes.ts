import { spoolFile } from '../../../../base/spool-file.ts'
import type { ImportOutcome, ImportReport } from '../../../../memory/transfer/import-memories.ts'
import { splitLines } from '../../../../memory/transfer/numbered-line.ts'
import { FamiliarError } from '../../../../protocol/error.ts'
import {
  exportQuerySchema,
  type ImportProgressReply,
  type ImportReply,
  importQuerySchema,
  importReplySchema,
} from '../../../../protocol/memory-upkeep-api.ts'
import { limitedBody } from '../../guards/body-size-guard.ts'
import { hasBody } from '../../guards/content-type-guard.ts'
import { callerOf } from '../../guards/token-guard.ts'
import type { HttpDependencies } from '../../http-dependencies.ts'
import { defineRoute, type Route } from '../../route.ts'
import type { StreamReply } from '../../stream-reply.ts'
import { lineReply } from './line-reply.ts'
import { progressReply } from './progress-reply.ts'

const mediaTypes = { jsonl: 'application/x-ndjson', markdown: 'text/markdown' } as const
const defaultMaxBytes = 1_000_000_000

/** Everything out, and in again. */
export function createTransferRoutes(dependencies: HttpDependencies, streamReply: StreamReply): Route[] {
  const { exportMemories, importMemories, spoolDirectory, settings, logger } = dependencies
  const maxBytes = settings.maxImportBytes ?? defaultMaxBytes
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/memories/export',
      summary: 'Everything that is remembered: complete, as JSON lines, or as Markdown for people.',
      auth: 'token',
      scope: 'read',
      query: exportQuerySchema,
      reply: { status: 200, mediaTypes: Object.values(mediaTypes) },
      handle({ context, query }) {
        const { userId } = callerOf(context)
        const format = query.format === 'jsonl' ? 'json' : 'markdown'
        const lines = exportMemories({ userId, format })
        const name = `familiar-memories.${format === 'json' ? 'jsonl' : 'md'}`
        return lineReply({ lines, mediaType: mediaTypes[query.format], name, logger })
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/memories/import',
      summary:
        'Add what an export, or any list of notes, holds; nothing that is there changes. With "Accept: text/event-stream" it tells how far it is.',
      auth: 'token',
      scope: 'owner',
      query: importQuerySchema,
      rawBody: { mediaTypes: Object.values(mediaTypes), maxBytes, isSpooled: true },
      reply: { status: 200, schema: importReplySchema, events: true },
      async handle({ context, query }) {
        const { userId } = callerOf(context)
        if (!hasBody(context)) throw new FamiliarError('bad_request', 'body: needs the lines to import')
        // All of it has to arrive within a minute, and storing it may take longer.
        const file = await spoolFile(spoolDirectory, limitedBody(context, maxBytes))
        try {
          return await progressReply<ImportProgressReply, ImportReply>(context, streamReply, async (job) => {
            try {
              const lines = splitLines(file.read())
              const addFolders = query.add_folders === 'true'
              return importReply(await importMemories({ ...job, userId, lines, label: query.label, addFolders }))
            } finally {
              await file.close()
            }
          })
        } catch (cause) {
          await file.close()
          throw cause
        }
      },
    }),
  ]
}

function importReply(outcome: ImportOutcome): ImportReply {
  if (!outcome.ok) throw new FamiliarError('bad_request', `body: ${outcome.message}`)
  const { format, isOwn, isFinished, ...report }: ImportReport = outcome.report
  return { format: format === 'json' ? 'jsonl' : format, is_own: isOwn, is_finished: isFinished, ...report }
}

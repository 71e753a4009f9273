import {
  type CapabilityFilesReply,
  capabilityFilesQuerySchema,
  capabilityFilesReplySchema,
} from '../../../../protocol/capability-api.ts'
import { FamiliarError } from '../../../../protocol/error.ts'
import type { Capabilities } from '../../../../tools/capabilities/capabilities.ts'
import { decodeText } from '../../../../tools/capabilities/versions/capability-files.ts'
import { lockFile } from '../../../../tools/capabilities/versions/lock.ts'
import { jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'
import { findCapability } from './capability-reply.ts'

/** What a capability is made of: its code, its RUN.md, its examples. Read from what was registered, and held against its lock. */
export function createCapabilityFileRoutes(capabilities: Capabilities): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/capabilities/:name/files',
      summary: 'The files of a version; without a number, of the one that serves. One that is no text has none.',
      auth: 'token',
      scope: 'read',
      query: capabilityFilesQuerySchema,
      reply: { status: 200, schema: capabilityFilesReplySchema },
      async handle({ context, query }) {
        const { userId, name } = findCapability(capabilities, context)
        const version = await capabilities.catalog.version(userId, name, query.version)
        if (!version) throw new FamiliarError('not_found', `${name} has no version ${query.version ?? 'yet'}.`)
        const reading = await capabilities.catalog.read(version)
        if (!reading.ok) throw new FamiliarError('conflict', reading.problem)
        const files = [...reading.files]
          .filter(([path]) => path !== lockFile)
          .map(([path, bytes]) => ({ path, bytes: bytes.length, text: decodeText(bytes) ?? null }))
        return jsonReply({ version: version.version, files } satisfies CapabilityFilesReply)
      },
    }),
  ]
}

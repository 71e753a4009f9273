import { isAbsolute } from 'node:path'
import {
  type CapabilityExportReply,
  capabilityApproveRequestSchema,
  capabilityDirectoryRequestSchema,
  capabilityExportReplySchema,
  type RegistrationProgress,
  type RegistrationReply,
  registrationReplySchema,
} from '../../../../protocol/capability-api.ts'
import { FamiliarError } from '../../../../protocol/error.ts'
import type { Capabilities } from '../../../../tools/capabilities/capabilities.ts'
import { callerOf } from '../../guards/token-guard.ts'
import type { HttpContext } from '../../http-dependencies.ts'
import { jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'
import type { StreamReply } from '../../stream-reply.ts'
import { progressReply } from '../memory/progress-reply.ts'
import { findCapability, registrationReply } from './capability-reply.ts'

type Job = { signal: AbortSignal; onProgress(line: string): void }

/**
 * Folders that become capabilities, and capabilities that become folders. Each of these names a path or lets code in that
 * nobody here has seen run, so no token reaches them: they answer this machine's own command line (SEC-4).
 */
export function createCapabilityFolderRoutes(capabilities: Capabilities, streamReply: StreamReply): Route[] {
  const { folders } = capabilities

  function register(context: HttpContext, work: (job: Job) => ReturnType<typeof folders.register>): Promise<Response> {
    return progressReply<RegistrationProgress, RegistrationReply>(context, streamReply, async (job) =>
      registrationReply(
        await work({ signal: job.signal, onProgress: (message: string) => job.onProgress({ message }) }),
      ),
    )
  }

  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/local/capabilities/register',
      summary: 'Check a folder and make it a capability. What is wrong with it is in the answer.',
      auth: 'token',
      scope: 'owner',
      isLocal: true,
      body: capabilityDirectoryRequestSchema,
      reply: { status: 200, schema: registrationReplySchema, events: true },
      handle({ context, body }) {
        const { userId } = callerOf(context)
        const directory = absolute(body.directory)
        return register(context, (job) => folders.register(userId, directory, job))
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/local/capabilities/import',
      summary: 'Take a folder in, to stay off until its permissions are approved. Nothing of it runs.',
      auth: 'token',
      scope: 'owner',
      isLocal: true,
      body: capabilityDirectoryRequestSchema,
      reply: { status: 200, schema: registrationReplySchema },
      async handle({ context, body }) {
        const { userId } = callerOf(context)
        const imported = await folders.importFrom(userId, absolute(body.directory), context.req.raw.signal)
        return jsonReply(registrationReply(imported))
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/local/capabilities/:name/approve',
      summary: 'Approve the permissions of an imported capability: it is checked whole, and serves from then on.',
      auth: 'token',
      scope: 'owner',
      isLocal: true,
      body: capabilityApproveRequestSchema,
      reply: { status: 200, schema: registrationReplySchema, events: true },
      handle({ context, body }) {
        const { userId, name, version } = findCapability(capabilities, context)
        if (version !== body.version) {
          throw new FamiliarError('conflict', `${name} has changed since its permissions were shown. Look at it again.`)
        }
        return register(context, (job) => folders.approve(userId, name, job))
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/local/capabilities/:name/export',
      summary: 'Write a capability as a folder that is also an Agent Skill.',
      auth: 'token',
      scope: 'owner',
      isLocal: true,
      body: capabilityDirectoryRequestSchema,
      reply: { status: 201, schema: capabilityExportReplySchema },
      async handle({ context, body }) {
        const { userId, name } = findCapability(capabilities, context)
        const { directory, files } = await folders.exportTo(userId, name, absolute(body.directory))
        return jsonReply({ directory, files: [...files] } satisfies CapabilityExportReply, { status: 201 })
      },
    }),
  ]
}

/** Where this process happens to stand says nothing about where the caller does. */
function absolute(directory: string): string {
  if (isAbsolute(directory) && !directory.includes('\0')) return directory
  throw new FamiliarError('bad_request', 'directory: must be an absolute path')
}

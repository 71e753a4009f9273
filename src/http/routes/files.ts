import { type ErrorCode, FamiliarError } from '../../protocol/errors.ts'
import * as api from '../../protocol/files.ts'
import { toWire } from '../../protocol/operation.ts'
import type { AssetActor, AssetFailure, AssetFailureCode } from '../../tools/files/assets.ts'
import type { Assets } from '../../tools/files/open-assets.ts'
import { blockUri, type Pins } from '../../tools/files/pins.ts'
import type { HttpContext } from '../dependencies.ts'
import { callerOf } from '../guards.ts'
import { jsonReply, orNotFound } from '../replies.ts'
import { handle, type Route } from '../route.ts'

/** The pinned blocks and their order. */
export function createPinRoutes(pins: Pins): Route[] {
  return [
    handle(api.pins.list, async ({ userId, query }) => pins.list({ userId, agent: query.agent })),
    handle(api.pins.add, async ({ userId, body }) => {
      const { label, position, agent } = body
      const owner = { userId, agent }
      return orRefuse(await pins.pin(owner, { path: label, position })).pin
    }),
    handle(api.pins.remove, async ({ userId, query }) => {
      const owner = { userId, agent: query.agent }
      return orRefuse(await pins.unpin(owner, { path: query.label }))
    }),
  ]
}

type History = Extract<Awaited<ReturnType<Assets['history']>>, { ok: true }>

/** A token writes as its user. */
export function actorOf(context: HttpContext, agent = 'main'): AssetActor {
  return { userId: callerOf(context).userId, author: 'user', agent, trust: 'owner' }
}

/** Returns the success, or throws the failure. */
export function orRefuse<T extends { ok: true }>(outcome: T | AssetFailure): T {
  if (outcome.ok) return outcome
  throw new FamiliarError(errorCodes[outcome.code] ?? 'bad_request', outcome.message)
}

/**
 * The expected etag of a write, from the headers `If-Match` and `If-None-Match: *` or the field of the body. Undefined: any;
 * null: nothing may exist. A mismatch is refused here; the write itself refuses later changes.
 */
async function expectedEtag(
  context: HttpContext,
  assets: Pick<Assets, 'load'>,
  { path, etag }: { path: string; etag?: string | null | undefined },
): Promise<{ etag?: string | null | undefined; isHeader: boolean }> {
  const match = context.req.header('if-match')
  const noneMatch = context.req.header('if-none-match')
  if (match === undefined && noneMatch === undefined) return { etag, isHeader: false }
  if (etag !== undefined)
    throw new FamiliarError('bad_request', 'Send the etag in a header or in the body, not in both.')
  if (match !== undefined && noneMatch !== undefined) {
    throw new FamiliarError('bad_request', 'Send If-Match or If-None-Match, not both.')
  }
  if (noneMatch !== undefined && noneMatch.trim() !== '*') {
    throw new FamiliarError(
      'bad_request',
      'If-None-Match: only * is supported here. It means: create, never overwrite.',
    )
  }
  if (match === undefined) return { etag: null, isHeader: true }
  const loaded = await assets.load(actorOf(context), { path })
  if (!loaded.ok && loaded.code !== 'not_found') orRefuse(loaded)
  const current = loaded.ok ? loaded.etag : null
  const wanted = match.split(',').map((one) => one.trim().replace(/^"(.*)"$/, '$1'))
  if (current === null || !(wanted.includes('*') || wanted.includes(current))) throw preconditionFailed(path)
  return { etag: current, isHeader: true }
}

/** Writes a whole asset over the version that a header or the body names. A mismatch with a header is a 412. */
async function writeMatching(
  context: HttpContext,
  assets: Pick<Assets, 'load' | 'write'>,
  asset: Parameters<Assets['write']>[1],
) {
  const { etag, isHeader } = await expectedEtag(context, assets, asset)
  const outcome = await assets.write(actorOf(context), { ...asset, etag })
  if (!outcome.ok && outcome.code === 'conflict' && isHeader) throw preconditionFailed(asset.path)
  return orRefuse(outcome)
}

function preconditionFailed(path: string): FamiliarError {
  const reason = 'it is not the version that the request names'
  return new FamiliarError('precondition_failed', `${path} was not written: ${reason}. Read it again and retry.`)
}

const errorCodes: Partial<Record<AssetFailureCode, ErrorCode>> = {
  not_found: 'not_found',
  no_version: 'not_found',
  outside: 'forbidden',
  protected: 'forbidden',
  no_permission: 'forbidden',
  linked: 'forbidden',
  read_only: 'forbidden',
  conflict: 'conflict',
  moved: 'conflict',
  budget: 'conflict',
  absent: 'conflict',
  ambiguous: 'conflict',
  too_large: 'payload_too_large',
  binary: 'unsupported_media_type',
}

function withPresence({ uri, path, versions }: History) {
  return { uri, path, versions: versions.map((one) => ({ ...one, wasThere: one.content !== null })) }
}

/** Blocks by their labels. No label can reach a file (SEC-4). */
export function createBlockRoutes(assets: Assets): Route[] {
  return [
    handle(api.blocks.list, async ({ query, context }) =>
      orRefuse(await assets.list(actorOf(context), { prefix: blockUri(query.prefix) })),
    ),
    handle(api.blocks.read, async ({ query, context }) => {
      const read = orRefuse(await assets.read(actorOf(context), { path: pathOf(context), ...query }))
      return jsonReply(toWire(api.assetReadReplySchema, read) as object, { headers: { etag: `"${read.etag}"` } })
    }),
    handle(api.blocks.write, async ({ body, context }) =>
      writeMatching(context, assets, { path: pathOf(context), ...body }),
    ),
    handle(api.blocks.edit, async ({ body, context }) =>
      orRefuse(await assets.edit(actorOf(context), { path: pathOf(context), ...body })),
    ),
    handle(api.blocks.remove, async ({ query, context }) =>
      orRefuse(await assets.remove(actorOf(context), { path: pathOf(context), ...query })),
    ),
    handle(api.blocks.history, async ({ context }) =>
      withPresence(orRefuse(await assets.history(actorOf(context), { path: pathOf(context) }))),
    ),
    handle(api.blocks.version, async ({ params, context }) => {
      const { uri, path, versions } = orRefuse(await assets.history(actorOf(context), { path: pathOf(context) }))
      const found = versions.find(({ version }) => String(version) === params.version)
      return { uri, path, ...orNotFound(found, `There is no such version of ${path}.`) }
    }),
    handle(api.blocks.undo, async ({ body, context }) =>
      orRefuse(await assets.undo(actorOf(context), { path: pathOf(context), ...body })),
    ),
  ]
}

function pathOf(context: HttpContext): string {
  return blockUri(context.req.param('label') ?? '')
}

/** Files and blocks by their paths, for the command line of this machine alone: no token names a path (SEC-4). */
export function createLocalFileRoutes(assets: Assets): Route[] {
  return [
    handle(api.localFiles.read, async ({ body, context }) => orRefuse(await assets.read(actorOf(context), body))),
    handle(api.localFiles.write, async ({ body, context }) => writeMatching(context, assets, body)),
    handle(api.localFiles.edit, async ({ body, context }) => orRefuse(await assets.edit(actorOf(context), body))),
    handle(api.localFiles.list, async ({ body, context }) =>
      orRefuse(await assets.list(actorOf(context), { prefix: body.path })),
    ),
    handle(api.localFiles.history, async ({ body, context }) =>
      withPresence(orRefuse(await assets.history(actorOf(context), body))),
    ),
    handle(api.localFiles.undo, async ({ body, context }) => orRefuse(await assets.undo(actorOf(context), body))),
  ]
}

import { imageTypeOf } from '../../../assets/expansion/image-type.ts'
import { EgressError } from '../../../egress/egress-error.ts'
import type { GuardedFetch } from '../../../egress/guarded-fetch.ts'
import type { Attachment } from '../../../protocol/api.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import type { ListedFile } from './client-list.ts'

const maxFiles = 10

/** Files as attachments. What stands at an address is fetched, by the rules of every fetch (SEC-8), and must be an image. */
export async function loadFiles(
  fetch: GuardedFetch,
  files: readonly ListedFile[],
  signal: AbortSignal,
): Promise<Attachment[]> {
  if (files.length > maxFiles) {
    throw new FamiliarError('bad_request', `At most ${maxFiles} files are taken with a message`)
  }
  return Promise.all(
    files.map(async (file): Promise<Attachment> => {
      if (file.kind === 'data') return { name: file.name, media_type: file.mediaType, data: file.data }
      const data = await load(fetch, file.url, signal)
      const mediaType = imageTypeOf(data)
      if (!mediaType) throw new FamiliarError('bad_request', `${shown(file.url)} is no image that models take`)
      return { name: file.name, media_type: mediaType, data: Buffer.from(data).toString('base64') }
    }),
  )
}

async function load(fetch: GuardedFetch, url: string, signal: AbortSignal): Promise<Uint8Array> {
  try {
    const response = await fetch(url, { signal })
    if (response.ok) return new Uint8Array(await response.arrayBuffer())
    throw new FamiliarError('bad_request', `${shown(url)} could not be fetched: status ${response.status}`)
  } catch (cause) {
    if (cause instanceof FamiliarError || signal.aborted) throw cause
    // What the network says of a host that does not answer is not for the caller: it would map what is behind us.
    const why = cause instanceof EgressError ? `: ${cause.message}` : ''
    throw new FamiliarError('bad_request', `${shown(url)} could not be fetched${why}`, { cause })
  }
}

function shown(url: string): string {
  return JSON.stringify(url.length > 100 ? `${url.slice(0, 100)}…` : url)
}

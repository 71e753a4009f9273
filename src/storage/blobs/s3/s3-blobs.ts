import { FamiliarError } from '../../../protocol/error.ts'
import { type BlobStore, isBlobName, needBlobName } from '../blob-store.ts'
import type { AskS3 } from './ask-s3.ts'

/** Names as keys of a bucket, below the prefix of its settings. What others keep there under no name of ours is not listed. */
export function createS3Blobs({ ask, prefix }: { ask: AskS3; prefix: () => string }): BlobStore {
  return {
    async put(name, bytes) {
      const { status } = await ask({ method: 'PUT', key: needBlobName(name), body: bytes })
      if (status === 404) throw new FamiliarError('unavailable', 'The shared place does not take what is put there')
    },
    async get(name) {
      const { status, body } = await ask({ method: 'GET', key: needBlobName(name) })
      return status === 404 ? undefined : body
    },
    async has(name) {
      const { status } = await ask({ method: 'HEAD', key: needBlobName(name) })
      return status !== 404
    },
    async delete(name) {
      await ask({ method: 'DELETE', key: needBlobName(name) })
    },
    async *list(folder) {
      const before = prefix()
      for (let token: string | undefined, isFirst = true; isFirst || token !== undefined; isFirst = false) {
        const query = { 'list-type': '2', prefix: before + folder, ...(token && { 'continuation-token': token }) }
        const { body } = await ask({ method: 'GET', key: '', query })
        const text = new TextDecoder().decode(body)
        const keys = Array.from(text.matchAll(/<Key>([^<]*)<\/Key>/g), ([, key = '']) => unescaped(key))
        yield* keys.map((key) => key.slice(before.length)).filter(isBlobName)
        const next = /<NextContinuationToken>([^<]*)<\/NextContinuationToken>/.exec(text)?.[1]
        token = next === undefined ? undefined : unescaped(next)
      }
    },
  }
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }

function unescaped(text: string): string {
  return text.replace(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => entities[name] ?? '')
}

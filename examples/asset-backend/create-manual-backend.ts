import { type AssetBackend, type AssetEntry, type AssetPlace, notThere } from '../../src/tools/files/assets.ts'

/**
 * A third store beside files and blocks, in one file: pages of a manual under `manual://`, to be read and not written.
 * Reading by lines, what is said when a page is missing, and the refusal to write come with every backend.
 */
export function createManualBackend(pages: ReadonlyMap<string, string>): AssetBackend {
  const placeOf = (name: string): AssetPlace => ({ uri: `manual://${name}`, path: `manual://${name}` })
  const nameOf = ({ uri }: AssetPlace) => uri.slice('manual://'.length)
  const entryOf = (name: string): AssetEntry => {
    return { ...placeOf(name), bytes: Buffer.byteLength(pages.get(name) ?? ''), modifiedAt: 0 }
  }

  return {
    scheme: 'manual',
    locate: async (_actor, path) => ({ ok: true, ...placeOf(path.split('/').filter(Boolean).join('/')) }),
    async read(_actor, place) {
      const content = pages.get(nameOf(place))
      return content === undefined ? notThere(place.path) : { ok: true, content, trust: 'internal', modifiedAt: 0 }
    },
    async stat(_actor, place) {
      const name = nameOf(place)
      return pages.has(name) ? { ok: true, ...entryOf(name) } : notThere(place.path)
    },
    async list(_actor, prefix) {
      const names = [...pages.keys()].filter((name) => name.startsWith(prefix)).sort()
      return { ok: true, entries: names.map(entryOf), isCut: false }
    },
  }
}

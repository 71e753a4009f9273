import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { peersFolder } from '../install-peers.ts'

const loader = pathToFileURL(join(peersFolder, 'load.js')).href
const { load } = (await import(loader)) as { load(name: string): Promise<unknown> }

/** A package of the peers' folder. Nothing there is known to the compiler: `Shape` is the part of it that is used. */
export async function loadPeer<Shape>(name: string): Promise<Shape> {
  return (await load(name)) as Shape
}

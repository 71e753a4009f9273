import { posix } from 'node:path'
import type { ArrangedFiles } from './arrange-files.ts'
import type { PlannedCommand } from './command-plan.ts'

const elsewhere = '/tool'
// The root itself, and what here are this machine's own folders.
const systemPlace = /^\/(?:[^/]*$|(?:usr|bin|sbin|lib|lib32|lib64|libx32|etc|proc|sys|dev|tmp|run)\/)/

/**
 * An image may have its files at the root or among the system's; here those places are this machine's own and stay as they
 * are. Then all the files move below `/tool` together, and with them every word of the command that names one.
 */
export function relocate(command: PlannedCommand, files: ArrangedFiles): PlannedCommand & { files: ArrangedFiles } {
  const { argv, workingDirectory, environment } = command
  const mustMove = [...files.keys(), posix.join(workingDirectory, 'file')].some((place) => systemPlace.test(place))
  if (!mustMove) return { ...command, files }
  const move = (place: string) => posix.join(elsewhere, place)
  const moveNamed = (word: string) => (isOwn(word) ? move(word) : word)
  function isOwn(word: string): boolean {
    if (!word.startsWith('/')) return false
    const path = posix.normalize(word).replace(/(?<=.)\/$/, '')
    return files.has(path) || (path !== '/' && path === workingDirectory)
  }
  const [program, ...given] = argv
  return {
    argv: [moveNamed(program), ...given.map(moveNamed)],
    workingDirectory: move(workingDirectory),
    environment: Object.fromEntries(Object.entries(environment).map(([key, value]) => [key, moveNamed(value)])),
    files: new Map(Array.from(files, ([place, file]) => [move(place), file])),
  }
}

/** The folders inside that hold files, as few and as small as they can be: what must be mounted. */
export function foldersOf(places: Iterable<string>): string[] {
  const byFirst = Map.groupBy(places, (place) => place.split('/')[1] ?? '')
  return [...byFirst.values()].map((own) => own.map(posix.dirname).reduce(commonFolder))
}

function commonFolder(a: string, b: string): string {
  const steps = a.split('/')
  const other = b.split('/')
  const end = steps.findIndex((step, index) => step !== other[index])
  return end === -1 ? a : steps.slice(0, end).join('/') || '/'
}

import { posix } from 'node:path'
import { importsOf, loadedBy } from './imports-of.ts'
import { isTest, type Report, type SourceFiles } from './source-files.ts'

/** The folders of src from the ground up: a file imports from its own folder and from those before it. */
export const layers = [
  'protocol',
  'base',
  'storage',
  'fleet',
  'security',
  'memory',
  'models',
  'sandbox',
  'tools',
  'custom-tools',
  'agent',
  'channels',
  'http',
  'daemon',
  'terminal',
]

/** Folders that stand alone: what they may import from outside themselves, whatever the order would allow. */
const standalone: Record<string, RegExp> = {
  protocol: /^zod(\/|$)/,
}

/**
 * Imports point downward in src, and no file of the repository loads itself through others. Types may point both ways
 * within a folder: they are erased.
 */
export function checkLayers(files: SourceFiles): Report {
  const edges = importEdges(files, importsOf)
  return {
    findings: [...edges]
      .flatMap(([path, imports]) => layerFindings(path, imports))
      .concat(cycleFindings(importEdges(files, loadedBy))),
    note: `${edges.size} files`,
  }
}

function importEdges(files: SourceFiles, read: (text: string) => string[]): Map<string, string[]> {
  const code = [...files].filter(([path]) => !isTest(path))
  return new Map(code.map(([path, text]) => [path, read(text).map((specifier) => target(path, specifier))]))
}

function target(path: string, specifier: string): string {
  return specifier.startsWith('.') ? posix.join(posix.dirname(path), specifier) : specifier
}

function layerFindings(path: string, imports: string[]): string[] {
  if (!path.startsWith('src/')) return []
  const folder = folderOf(path)
  // src/index.ts is the entry point of the package and may import every folder.
  if (folder === undefined) return []
  const layer = layers.indexOf(folder)
  if (layer < 0) return [`${path}: src/${folder} has no place in the order of layers (scripts/check-layers.ts)`]
  return imports.flatMap((imported) => {
    const reason = whyForbidden(folder, layer, imported)
    return reason ? [`${path}: imports ${imported}: ${reason}`] : []
  })
}

function whyForbidden(folder: string, layer: number, imported: string): string | undefined {
  const isLocal = imported.startsWith('src/')
  const importedFolder = isLocal ? folderOf(imported) : undefined
  if (importedFolder === folder) return undefined
  const allowed = standalone[folder]
  if (allowed) return !isLocal && allowed.test(imported) ? undefined : `${folder} stands alone`
  if (/^(\.\.|test\/|scripts\/|bench\/|web\/|examples\/)/.test(imported)) return 'src imports nothing from outside src'
  if (!isLocal) return undefined
  if (importedFolder === undefined) return 'the package face is for others'
  return layers.indexOf(importedFolder) < layer ? undefined : `${importedFolder} is above ${folder}`
}

function folderOf(path: string): string | undefined {
  const parts = path.split('/')
  return parts.length > 2 ? parts[1] : undefined
}

function cycleFindings(edges: Map<string, string[]>): string[] {
  const findings: string[] = []
  const finished = new Set<string>()
  const visit = (path: string, trail: string[]): void => {
    const start = trail.indexOf(path)
    if (start >= 0) {
      findings.push(`import cycle: ${[...trail.slice(start), path].join(' → ')}`)
      return
    }
    if (finished.has(path)) return
    for (const imported of edges.get(path) ?? []) if (edges.has(imported)) visit(imported, [...trail, path])
    finished.add(path)
  }
  for (const path of edges.keys()) visit(path, [])
  return findings
}

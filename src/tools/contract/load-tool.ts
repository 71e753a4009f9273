import { parseAnyJson } from '../../base/json.ts'
import { type Fingerprint, fingerprintOf } from './folder/fingerprint.ts'
import { readFolderText, type ToolFolder } from './folder/tool-folder.ts'
import type { ToolManifest } from './manifest/manifest.ts'
import { readManifest } from './manifest/read-manifest.ts'
import type { CommandPlan } from './run/command-plan.ts'
import { planCommand } from './run/plan-command.ts'

/** What a folder says that it is, all of it checked. */
export interface LoadedTool {
  folder: ToolFolder
  manifest: ToolManifest
  plan: CommandPlan
  fingerprint: Fingerprint
  notes: readonly string[]
}

export type Loading = { ok: true; tool: LoadedTool } | { ok: false; problem: string }

const largestManifest = 256 * 1024

/** Never throws: a folder that is wrong says why. */
export function loadTool(folder: ToolFolder): Loading {
  const text = readFolderText(folder, 'manifest.json')
  if (text === undefined) return { ok: false, problem: 'manifest.json is missing' }
  if (text.length > largestManifest) return { ok: false, problem: 'manifest.json has more than 256 KB' }
  const json = parseAnyJson(text.replace(/^\ufeff/, ''))
  if (!json.ok) return { ok: false, problem: `manifest.json is no JSON: ${json.message}` }
  const reading = readManifest(json.value, { folder: folder.name })
  if (!reading.ok) return reading
  const planning = planCommand(folder)
  if (!planning.ok) return planning
  const { manifest, notes } = reading
  const fingerprint = fingerprintOf(manifest, folder.hash)
  return {
    ok: true,
    tool: { folder, manifest, plan: planning.plan, fingerprint, notes: [...notes, ...planning.plan.notes] },
  }
}

import { changesSince, readFingerprint, writeFingerprint } from './folder/fingerprint.ts'
import type { LoadedTool } from './load-tool.ts'
import type { ToolState } from './tool-states.ts'

/** Why a tool is off; undefined where it is on. */
export function whyOff(
  { folder, manifest, fingerprint }: LoadedTool,
  state: ToolState | undefined,
): string | undefined {
  const enable = `familiar tools enable ${manifest.name}`
  const approved = state?.fingerprint ? readFingerprint(state.fingerprint) : undefined
  if (!approved) return `New, and ${firstDoubt({ folder, manifest }) ?? 'not approved yet'}. To approve it: ${enable}`
  const changes = changesSince(approved, fingerprint, { isShared: folder.isShared !== null })
  if (changes.length > 0) return `Changed since it was approved (${changes.join(', ')}). To approve it again: ${enable}`
  return state?.isEnabled ? undefined : `Switched off. To switch it on: ${enable}`
}

/**
 * The word that a new tool needs no asking for: the owner put it where nobody else can write. With doubts it is written
 * down as seen and not approved. Undefined where it is known already.
 */
export function firstWord(tool: LoadedTool, state: ToolState | undefined): Partial<ToolState> | undefined {
  if (state?.fingerprint || firstDoubt(tool) !== undefined) return undefined
  // Switched off by name before it ever came: it stays so.
  return { isEnabled: state?.isEnabled ?? true, fingerprint: writeFingerprint(tool.fingerprint) }
}

/** The owner's word for the tool as it is now. */
export function ownersWord({ fingerprint }: LoadedTool, isEnabled: boolean): Partial<ToolState> {
  return isEnabled ? { isEnabled, fingerprint: writeFingerprint(fingerprint) } : { isEnabled }
}

/** What speaks against taking a tool that nobody has said a word about. */
function firstDoubt({ folder, manifest }: Pick<LoadedTool, 'folder' | 'manifest'>): string | undefined {
  if (folder.isShared !== null) return folder.isShared
  return manifest.network.mode === 'host' ? `it wants this machine's own network` : undefined
}

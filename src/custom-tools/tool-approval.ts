import { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import { sha256 } from '../base/ids.ts'
import { canonicalJson, parseJson } from '../base/json.ts'
import type { Database } from '../storage/database.ts'
import type { ToolStateRow } from '../storage/tables.ts'
import type { LoadedTool } from './command.ts'
import type { ToolManifest } from './manifest.ts'
import type { ToolFolder } from './tool-folder.ts'

export interface ToolState {
  isEnabled: boolean
  /** The fingerprint that was approved; null if it was never approved. */
  fingerprint: string | null
  /** Hosts that the owner lets it reach beside those that it declares. */
  hosts: readonly string[]
}

const hostsSchema = z.array(z.string())

export type ToolStates = ReturnType<typeof createToolStates>

/** One of this home, for all its users. */
export function createToolStates(dependencies: { database: Database; clock: Clock }) {
  const { database, clock } = dependencies
  return {
    async all(): Promise<ReadonlyMap<string, ToolState>> {
      const rows = await database.read.selectFrom('tool_states').selectAll().execute()
      return new Map(rows.map((row) => [row.name, toState(row)]))
    },
    /** Omitted fields stay; the default is off and without hosts. */
    async write(name: string, { isEnabled, fingerprint, hosts }: Partial<ToolState>): Promise<void> {
      const change = {
        ...(isEnabled !== undefined && { is_enabled: isEnabled ? (1 as const) : (0 as const) }),
        ...(fingerprint !== undefined && { fingerprint }),
        ...(hosts !== undefined && { hosts: JSON.stringify(hosts) }),
        updated_at: clock.now(),
      }
      const row: ToolStateRow = { name, is_enabled: 0, fingerprint: null, hosts: '[]', state: null, ...change }
      await database.write((writer) =>
        writer
          .insertInto('tool_states')
          .values(row)
          .onConflict((conflict) => conflict.column('name').doUpdateSet(change))
          .execute(),
      )
    },
  }
}

function toState(row: ToolStateRow): ToolState {
  const hosts = parseJson(row.hosts, hostsSchema)
  return { isEnabled: row.is_enabled === 1, fingerprint: row.fingerprint, hosts: hosts.ok ? hosts.value : [] }
}

/** A hash of each approved part. */
const fingerprintSchema = z.object({
  description: z.string(),
  parameters: z.string(),
  trigger: z.string(),
  permissions: z.string(),
  settings: z.string(),
  /** Of the whole folder, with the manifest. */
  code: z.string(),
  /** Of every file except the manifest. Approvals of older versions do not have it. */
  files: z.string().optional(),
})
export type Fingerprint = z.infer<typeof fingerprintSchema>

export function toolFingerprint(manifest: ToolManifest, folder: Pick<ToolFolder, 'hash' | 'codeHash'>): Fingerprint {
  const { description, documentation, parameters, trigger, network, limits, input, output, configuration } = manifest
  return {
    description: hash({ description, documentation }),
    parameters: hash(parameters),
    trigger: hash(trigger),
    permissions: hash({ network, isWritable: limits.isWritable, input, label: output.label }),
    settings: hash(configuration.map(({ key, isSecret }) => ({ key, isSecret }))),
    code: folder.hash,
    files: folder.codeHash,
  }
}

const manifestParts = ['description', 'parameters', 'trigger', 'permissions', 'settings'] as const

/**
 * The parts that changed since the owner's approval; empty if nothing did that needs a new one (SEC-14).
 *
 * Description, parameters, trigger, network, hosts, settings, secrets and code need a new approval. Parts of the manifest
 * that grant nothing, such as a timeout, need one only in a folder that another user can write to.
 */
function changesSince(approved: Fingerprint, now: Fingerprint, { isShared }: { isShared: boolean }): string[] {
  const isOld = approved.files === undefined
  const isCodeSame = isShared || isOld ? approved.code === now.code : approved.files === now.files
  return [...manifestParts.filter((part) => approved[part] !== now[part]), ...(isCodeSame ? [] : ['code'])]
}

function approvedFingerprint(state: ToolState | undefined): Fingerprint | undefined {
  const parsed = state?.fingerprint ? parseJson(state.fingerprint, fingerprintSchema) : undefined
  return parsed?.ok ? parsed.value : undefined
}

function hash(value: unknown): string {
  return sha256(canonicalJson(value))
}

/** Why a tool is off; undefined where it is on. */
export function whyToolOff(
  { folder, manifest, fingerprint }: LoadedTool,
  state: ToolState | undefined,
): string | undefined {
  const enable = `familiar tools enable ${manifest.name}`
  const approved = approvedFingerprint(state)
  if (!approved) return `New, and ${firstDoubt({ folder, manifest }) ?? 'not approved yet'}. To approve it: ${enable}`
  const changes = changesSince(approved, fingerprint, { isShared: folder.isShared !== null })
  if (changes.length > 0) return `Changed since it was approved (${changes.join(', ')}). To approve it again: ${enable}`
  return state?.isEnabled ? undefined : `Off. To enable it: ${enable}`
}

/**
 * Whether only the code changed since the approval, in a folder where only the owner can write. The owner may run such
 * a tool by hand while working on it; the model, schedules and webhooks may not.
 */
export function isOwnEdit({ folder, fingerprint }: LoadedTool, state: ToolState | undefined): boolean {
  const approved = approvedFingerprint(state)
  if (!approved || !state?.isEnabled || folder.isShared !== null) return false
  return changesSince(approved, fingerprint, { isShared: false }).join() === 'code'
}

/**
 * The automatic approval of a new tool in a folder where only the owner can write. Undefined if it is known already or
 * needs the owner.
 */
export function firstWord(tool: LoadedTool, state: ToolState | undefined): Partial<ToolState> | undefined {
  if (state?.fingerprint || firstDoubt(tool) !== undefined) return undefined
  // Switched off by name before it ever came: it stays so.
  return { isEnabled: state?.isEnabled ?? true, fingerprint: canonicalJson(tool.fingerprint) }
}

/** The owner's approval of the tool as it is now. */
export function approvedState({ fingerprint }: LoadedTool): Partial<ToolState> {
  return { isEnabled: true, fingerprint: canonicalJson(fingerprint) }
}

/** The reason against an automatic approval. */
function firstDoubt({ folder, manifest }: Pick<LoadedTool, 'folder' | 'manifest'>): string | undefined {
  if (folder.isShared !== null) return folder.isShared
  return manifest.network.mode === 'host' ? `it wants this machine's own network` : undefined
}

import { z } from 'zod'
import { parseJson } from '../../../base/json.ts'
import type { Json } from '../../../protocol/json.ts'
import type { CapabilityRow } from '../../../storage/capability-tables.ts'
import type { Reader, Writer } from '../../../storage/database.ts'
import type { Capability, CapabilityManifest, CapabilityPermissions } from '../capability.ts'

const objectSchema = z.record(
  z.string(),
  z.custom<Json>((value) => value !== undefined),
)
const tagsSchema = z.array(z.string())
const permissionsSchema = z.object({
  hosts: z.array(z.string()),
  secrets: z.array(z.object({ name: z.string(), description: z.string() })),
  storage: z.boolean(),
})
const manifestSchema = permissionsSchema.extend({
  name: z.string(),
  description: z.string(),
  runtime: z.enum(['python', 'node']),
  inputSchema: objectSchema,
  tags: tagsSchema,
  // Versions from before there was such a key have none.
  askedAs: z.array(z.string()).default([]),
  timeoutMs: z.number(),
  memoryBytes: z.number(),
})

export const noPermissions: CapabilityPermissions = { hosts: [], secrets: [], storage: false }

export function selectCapabilities(reader: Reader | Writer) {
  return reader.selectFrom('capabilities').selectAll()
}

/** What the catalog holds of a row. The schema is read whenever somebody asks for it: ten thousand of them stay text. */
export function toCapability(row: CapabilityRow): Capability {
  const { input_schema: inputSchema } = row
  return {
    id: row.id,
    userId: row.user_id,
    name: row.name,
    description: row.description,
    state: row.state,
    origin: row.origin,
    version: row.version === null ? null : Number(row.version),
    get inputSchema() {
      return readColumn(inputSchema, objectSchema)
    },
    tags: readColumn(row.tags, tagsSchema),
    permissions: readColumn(row.permissions, permissionsSchema),
    problem: row.problem,
    calls: Number(row.calls),
    failures: Number(row.failures),
    lastCalledAt: row.last_called_at === null ? null : Number(row.last_called_at),
    lastError: row.last_error,
    createdAt: Number(row.created_at),
    updatedAt: Number(row.updated_at),
  }
}

/** What of a manifest stands in the row of the capability whose version it is. */
export function manifestColumns(manifest: CapabilityManifest) {
  const { hosts, secrets, storage } = manifest
  return {
    description: manifest.description,
    input_schema: JSON.stringify(manifest.inputSchema),
    tags: JSON.stringify(manifest.tags),
    permissions: JSON.stringify({ hosts, secrets, storage }),
  }
}

export function readManifestColumn(text: string): CapabilityManifest {
  return readColumn(text, manifestSchema)
}

/** What was written here before. Anything else means that somebody has been at the file. */
function readColumn<T>(text: string, schema: z.ZodType<T>): T {
  const read = parseJson(text, schema)
  if (!read.ok) throw new Error(`A row of the capabilities cannot be read: ${read.message}`)
  return read.value
}

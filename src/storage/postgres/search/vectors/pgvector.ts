import type pg from 'pg'

/** The extension as it is in this database. */
export type Pgvector = { isUsable: true; version: string } | { isUsable: false; why: string }

// Half vectors came with 0.7, and scans that go on until enough rows pass the filter with 0.8.
const oldestMajor = 0
const oldestMinor = 8

/** Looks for it, and makes it usable where it is installed and this user may. */
export async function findPgvector(client: pg.ClientBase): Promise<Pgvector> {
  const version = (await readVersion(client)) ?? (await createExtension(client))
  if (version === undefined) return { isUsable: false, why: 'pgvector is not there' }
  if (version === '') return { isUsable: false, why: 'pgvector is installed; use it with: CREATE EXTENSION vector' }
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > oldestMajor || minor >= oldestMinor) return { isUsable: true, version }
  return { isUsable: false, why: `pgvector ${version} is older than ${oldestMajor}.${oldestMinor}` }
}

async function readVersion(client: pg.ClientBase): Promise<string | undefined> {
  const { rows } = await client.query<{ version: string }>(
    `select extversion as version from pg_extension where extname = 'vector'`,
  )
  return rows[0]?.version
}

/** Empty where it is there but this user may not create it, undefined where it is not there. */
async function createExtension(client: pg.ClientBase): Promise<string | undefined> {
  const { rows } = await client.query(`select from pg_available_extensions where name = 'vector'`)
  if (rows.length === 0) return undefined
  // Several daemons may try at once; whoever comes second fails, and finds it there.
  await client.query('create extension if not exists vector').catch(() => {})
  return (await readVersion(client)) ?? ''
}

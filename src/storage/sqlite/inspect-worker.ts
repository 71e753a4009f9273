import { DatabaseSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import { type InspectionDepth, inspectDatabase } from './inspect-database.ts'

const { path, depth } = workerData as { path: string; depth: InspectionDepth }
const raw = new DatabaseSync(path, { readOnly: true, timeout: 5000 })
const problems = inspectDatabase(raw, depth)
raw.close()
parentPort?.postMessage(problems)

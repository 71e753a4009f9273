import { createRequire } from 'node:module'

const packageInfo = createRequire(import.meta.url)('../../package.json') as { version: string }

export const version = packageInfo.version

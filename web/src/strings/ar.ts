import type { Catalog } from './locale.ts'

export const ar: Catalog = {}

import type { Catalog } from './locale.ts'

export const zh: Catalog = {}

import type { Catalog } from './locale.ts'

export const fr: Catalog = {}

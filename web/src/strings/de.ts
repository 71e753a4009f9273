import type { Catalog } from './locale.ts'

export const de: Catalog = {}

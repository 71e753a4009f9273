import { plural } from '../format.ts'

export const findStrings = {
  kinds: {
    conversation: 'Conversaciones',
    message: 'En conversaciones',
    memory: 'Memoria',
    note: 'Notas',
    file: 'Archivos',
    tool: 'Herramientas',
    schedule: 'Programaciones',
    setting: 'Ajustes',
  },
  you: 'Tú',
  searching: 'Buscando…',
  insertMention: 'Mencionar en un mensaje',
  fileCut: 'Solo se muestra el principio.',
}

export const organizeStrings = {
  folders: 'Carpetas',
  newFolder: 'Nueva carpeta',
  folderName: 'Nombre de la carpeta',
  renameFolder: 'Cambiar nombre de la carpeta',
  removeFolder: 'Quitar carpeta',
  folderRemoved: (name: string) => `Se ha quitado ${name}. Sus conversaciones se conservan.`,
  actionsOfFolder: (name: string) => `Acciones de la carpeta ${name}`,
  emptyFolder: 'Arrastra conversaciones aquí o usa «Mover a carpeta».',
  dropToRemove: 'Suelta aquí para sacar de la carpeta',
  moveToFolder: 'Mover a carpeta',
  noFolder: 'Sin carpeta',
  moved: (name: string) => `Movido a ${name}`,
  movedOut: 'Sacado de la carpeta',
  actionsOf: (title: string) => `Acciones de ${title}`,
  select: 'Seleccionar',
  selected: (count: number) => plural(count, { one: '# seleccionada', other: '# seleccionadas' }),
  selectNamed: (title: string) => `Seleccionar ${title}`,
  archive: 'Archivar',
  unarchive: 'Desarchivar',
  archived: (count: number) => plural(count, { one: 'Conversación archivada', other: '# conversaciones archivadas' }),
  unarchived: 'Desarchivado',
  delete: 'Eliminar',
  deleted: (count: number) => plural(count, { one: 'Conversación eliminada', other: '# conversaciones eliminadas' }),
  restored: 'Restaurado',
  restore: 'Restaurar',
  recentlyDeleted: 'Eliminadas recientemente',
  deletedHelp: 'Las conversaciones eliminadas se borran definitivamente a los 30 días.',
  nothingDeleted: 'No hay conversaciones eliminadas',
  export: 'Exportar',
  exportTitle: (count: number) => plural(count, { one: 'Exportar conversación', other: 'Exportar # conversaciones' }),
  formats: {
    md: 'Markdown',
    json: 'JSON',
    html: 'Página web (HTML), para compartir',
  },
  contains: (messages: number, files: number) =>
    `El archivo contiene ${plural(messages, { one: '# mensaje', other: '# mensajes' })}${
      files === 0 ? '' : ` y ${plural(files, { one: 'el nombre de # archivo', other: 'los nombres de # archivos' })}`
    }.`,
  containsNot: 'No se incluyen el razonamiento, la salida de las herramientas ni los recuerdos usados.',
  htmlHint:
    'Se incluyen las imágenes de hasta 1 MB. La página no ejecuta scripts ni carga nada. Cualquiera que tenga el archivo puede leerlo.',
  counting: 'Contando mensajes…',
  download: 'Descargar',
}

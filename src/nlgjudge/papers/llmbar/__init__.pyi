from .counting import unread_as_wrong as unread_as_wrong
